package repair

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const maxName = 64

// plain reports whether an API takes the name: ^[a-zA-Z0-9_.-]{1,64}$.
func plain(name string) bool {
	return name != "" && len(name) <= maxName && strings.IndexFunc(name, odd) < 0
}

func odd(r rune) bool {
	return r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// names replaces odd names. The same name has the same new name everywhere: several schemas may speak of one object.
type names struct {
	source   *source
	renamed  map[string]string
	original map[string]string
}

func newNames(s *source) *names {
	return &names{source: s, renamed: map[string]string{}, original: map[string]string{}}
}

func (n *names) rename(name string) string {
	if plain(name) {
		return name
	}
	if to, ok := n.renamed[name]; ok {
		return to
	}
	to := n.free(name)
	n.renamed[name], n.original[to] = to, name
	return to
}

// free keeps what it can of the name; a hash follows where that isn't enough to tell it from others.
func (n *names) free(name string) string {
	to := strings.Map(func(r rune) rune {
		if odd(r) {
			return '_'
		}
		return r
	}, name)
	if len(to) <= maxName && strings.Trim(to, "_") != "" && n.isFree(to) {
		return to
	}
	for i := 0; ; i++ {
		sum := sha256.Sum256([]byte(name + strings.Repeat("\x00", i)))
		suffix := "_" + hex.EncodeToString(sum[:4])
		if i > 8 {
			suffix = "_" + strconv.Itoa(i)
		}
		if s := to[:min(len(to), maxName-len(suffix))] + suffix; n.isFree(s) {
			return s
		}
	}
}

func (n *names) isFree(name string) bool {
	_, used := n.original[name]
	return !used && !n.source.taken[name]
}
