package permission

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// how a list reads a value.
type reading bool

const (
	wide   reading = true  // deny, ask
	narrow reading = false // allow
)

// argument is one `name:value` of a rule.
type argument struct {
	key, value string
	path       []string // of key, folded
	exact      string   // the same, where it is one name without a star
	dotted     bool     // key has a dot

	globs  []string // the forms of value for lists that forbid
	any    bool     // value is `**`
	pieces []piece  // of value, for the allow list; nil: value has no star
	compat []piece  // of value in NFKC
}

func newArgument(key, value string) argument {
	a := argument{key: key, value: value, path: strings.Split(fold(key), "."), dotted: strings.Contains(key, "."), any: value == "**"}
	if len(a.path) == 1 && !strings.Contains(key, "*") {
		a.exact = a.path[0]
	}
	folded := fold(value)
	a.globs = addForm(a.globs, folded)
	if strings.ContainsAny(folded, `/\`) {
		clean := path.Clean(strings.ReplaceAll(folded, `\`, "/"))
		a.globs = addForm(a.globs, clean)
		if dir, ok := strings.CutSuffix(clean, "/**"); ok {
			a.globs = addForm(a.globs, dir) // the folder itself is in it
		}
	}
	if n := number(value); n != "" {
		a.globs = addForm(a.globs, n)
	}
	if strings.Contains(value, "*") {
		a.pieces, a.compat = cutAtStars(value), cutAtStars(norm.NFKC.String(value))
	}
	return a
}

// allows reports whether the value under exactly this name is as the rule has it, and a server that ignores the case of
// names finds no other. Where plain, no two names in args are the same folded.
func (a *argument) allows(args map[string]any, plain bool, real func(string) string) bool {
	v, ok := args[a.key]
	if a.dotted {
		first, rest, _ := strings.Cut(a.key, ".")
		if object, is := args[first].(map[string]any); is {
			below := *a
			below.key, below.dotted = rest, strings.Contains(rest, ".")
			return !ok && below.allows(object, plain, real) && (plain || isOnly(args, first) && isOnly(args, a.key))
		}
	}
	return ok && (a.any || a.allowsValue(v, real)) && (plain || isOnly(args, a.key))
}

func isOnly(args map[string]any, key string) bool {
	folded := fold(key)
	for k := range args {
		cut, _, _ := strings.Cut(k, "\x00") // as servers in C read it
		if k != key && fold(cut) == folded {
			return false
		}
	}
	return true
}

func (a *argument) allowsValue(v any, real func(string) string) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(v any) bool {
			_, list := v.([]any)
			return list || !a.allowsValue(v, real)
		})
	case string:
		return a.allowsText(v, real)
	case json.Number:
		return v.String() == a.value || a.pieces != nil && number(v.String()) == v.String() && fits(a.pieces, v.String())
	case bool:
		return text(v) == a.value
	case nil:
		return a.value == "null"
	}
	return false
}

func (a *argument) allowsText(s string, real func(string) string) bool {
	if a.pieces == nil {
		return s == a.value
	}
	if !begins(a.pieces, s) || !isClean(s) || !fits(a.pieces, s) {
		return false
	}
	if !isASCII(s) {
		if compat := norm.NFKC.String(s); compat != s && (!isClean(compat) || !fits(a.compat, compat)) {
			return false
		}
	}
	if real == nil || len(s) > maxPath {
		return true
	}
	r := real(s)
	return r == "" || !path.IsAbs(s) && r == path.Join(real("."), s) || fits(a.pieces, r) || fits(a.realPieces(real), r)
}

// realPieces are the pieces with the folder in front of the first star as it really is.
func (a *argument) realPieces(real func(string) string) []piece {
	first := a.pieces[0]
	slash := strings.LastIndexByte(first.text, '/')
	if slash <= 0 {
		return a.pieces
	}
	dir := real(first.text[:slash])
	if dir == "" {
		return a.pieces
	}
	return append([]piece{{text: strings.TrimSuffix(dir, "/") + first.text[slash:]}}, a.pieces[1:]...)
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// text is a value as a rule would write it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return "null"
}
