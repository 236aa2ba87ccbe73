package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/secret"
)

// draft is one entry while it is read.
type draft struct {
	*reader
	e     Entry
	n     *node
	used  map[string]bool
	plain map[string]string // by place: the values as they are, for the identity only
	group string            // of pairs, env or headers
	rules int               // how many the file had before
	lost  bool
}

// take returns the first of some fields that is there, and doesn't count as left over any more.
func (d *draft) take(names ...string) (name string, n *node) {
	for _, m := range d.n.members {
		for _, want := range names {
			if m.name != want {
				continue
			}
			d.used[want] = true
			if n == nil && !m.value.is(isNull) {
				name, n = want, m.value
			}
		}
	}
	return name, n
}

func (d *draft) at(n *node, name string) Where { return d.where(n.line, join(d.e.Where.Field, name)) }

// fail costs the entry.
func (d *draft) fail(at Where, message string) {
	d.reader.lose(at, message)
	d.lost = true
}

// text is a field that must be a text.
func (d *draft) text(names ...string) (s string, at Where, ok bool) {
	name, n := d.take(names...)
	if n == nil {
		return "", Where{}, false
	}
	if !n.is(isText) || strings.ContainsRune(n.text, 0) {
		d.fail(d.at(n, name), "expected a text")
		return "", Where{}, false
	}
	return n.text, d.at(n, name), true
}

func (d *draft) flag(names ...string) (value, there bool) {
	name, n := d.take(names...)
	if n == nil {
		return false, false
	}
	if !n.is(isBool) {
		d.fail(d.at(n, name), "expected true or false")
		return false, false
	}
	return n.isTrue(), true
}

// say translates a value and takes the secrets out of it. leaf is the last part of its place, whole says that all of the
// value is a secret unless it says otherwise.
func (d *draft) say(s, leaf string, at Where, whole bool, values dialect) string {
	c := &context{reader: d.reader, draft: d, at: at, leaf: leaf, secret: whole}
	parts := values(s, c)
	place := d.group + leaf
	if d.group == "headers " {
		place = strings.ToLower(place)
	}
	d.plain[place] = unmasked(parts)
	text, ok := render(c.masked(parts))
	if !ok {
		c.warn("a $ before a variable can't be written here; check this value")
	}
	return text
}

func unmasked(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.lit + p.ref)
	}
	return b.String()
}

func (d *draft) keep(name, hint string, value string, at Where) string {
	for i := 0; ; i++ {
		unique := name
		if i > 0 {
			unique += "_" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		}
		at := slices.IndexFunc(d.e.Secrets, func(s Secret) bool { return s.Name == unique })
		if at < 0 {
			name = unique
			break
		}
		if d.e.Secrets[at].Value.Reveal() == value {
			return unique
		}
	}
	d.e.Secrets = append(d.e.Secrets, Secret{name, at, secret.Value(value), hint})
	return name
}

// time reads a number in the format's unit. Where it is 0, the default counts.
func (d *draft) time(unit time.Duration, names ...string) time.Duration {
	name, n := d.take(names...)
	if n == nil {
		return 0
	}
	t, ok := duration(n, unit)
	if !ok {
		d.note(d.at(n, name), "not a time that can be taken over; the default counts")
	}
	return t
}

func (d *draft) finish() {
	if !d.lost && d.e.Command == "" && d.e.URL == "" {
		d.fail(d.e.Where, "has neither a command nor an address")
	}
	if d.lost {
		d.out.Rules = d.out.Rules[:d.rules]
		return
	}
	switch {
	case d.e.Command == "":
	case d.e.Project != "":
		d.inFolder()
	case relative(d.e.Cwd), strings.Contains(d.e.Command, "/") && relative(d.e.Command):
		d.note(d.e.Where, "its folder or program is relative to where that product was started; write an absolute path")
	}
	h := sha256.New()
	for _, place := range slices.Sorted(maps.Keys(d.plain)) {
		h.Write([]byte(place + "\x00" + d.plain[place] + "\x00"))
	}
	d.e.identity = hex.EncodeToString(h.Sum(nil))
	d.out.Entries = append(d.out.Entries, d.e)
}

// inFolder makes paths good for a process that doesn't start in the project's folder.
func (d *draft) inFolder() {
	switch {
	case d.e.Cwd == "":
		d.e.Cwd = d.e.Project
	case relative(d.e.Cwd):
		d.e.Cwd = filepath.Join(d.e.Project, d.e.Cwd)
	}
	if strings.Contains(d.e.Command, "/") && relative(d.e.Command) {
		d.e.Command = filepath.Join(d.e.Cwd, d.e.Command)
	}
	d.plain["cwd"] = d.e.Cwd
}

func relative(path string) bool {
	return path != "" && !filepath.IsAbs(path) && path[0] != '~' && path[0] != '$'
}
