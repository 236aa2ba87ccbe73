package permission

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

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

	globs  []string // the forms of value for lists that forbid
	any    bool     // value is `**`
	pieces []piece  // of value, for the allow list; nil: value has no star
	compat []piece  // of value in NFKC
}

func newArgument(key, value string) argument {
	a := argument{key: key, value: value, path: strings.Split(fold(key), "."), any: value == "**"}
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

// forbids reports whether a value that could be meant is under the name, at any depth.
func (a *argument) forbids(v any, real func(string) string) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, v := range v {
			if a.below(fold(key), v, real) || a.forbids(v, real) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return a.forbids(v, real) })
	}
	return false
}

// below looks at a value under the (folded) key: the name may be one key, dots and all, or a path.
func (a *argument) below(key string, v any, real func(string) string) bool {
	if glob(strings.Join(a.path, "."), key) && a.anyLeaf(v, real) {
		return true
	}
	if len(a.path) == 1 || !glob(a.path[0], key) {
		return false
	}
	rest := *a
	rest.path = a.path[1:]
	return rest.forbids(v, real)
}

func (a *argument) anyLeaf(v any, real func(string) string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, v := range v {
			if a.anyLeaf(v, real) {
				return true
			}
		}
		return a.any
	case []any:
		return a.any || slices.ContainsFunc(v, func(v any) bool { return a.anyLeaf(v, real) })
	}
	for _, form := range forms(text(v), real) {
		for _, g := range a.globs {
			if glob(g, form) {
				return true
			}
		}
	}
	return false
}

// allows reports whether the value under exactly this name is as the rule has it.
func (a *argument) allows(args map[string]any, real func(string) string) bool {
	v, ok := only(args, a.key)
	if first, rest, dotted := strings.Cut(a.key, "."); dotted {
		inner, under := only(args, first)
		if object, is := inner.(map[string]any); under && is {
			below := *a
			below.key = rest
			return !ok && below.allows(object, real)
		}
	}
	return ok && (a.any || a.allowsValue(v, real))
}

// only returns the value under key, unless a server that ignores case could find another.
func only(args map[string]any, key string) (any, bool) {
	v, ok := args[key]
	if !ok {
		return nil, false
	}
	folded := fold(key)
	for k := range args {
		if k != key && fold(k) == folded {
			return nil, false
		}
	}
	return v, true
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
	if !isClean(s) || !fits(a.pieces, s) {
		return false
	}
	if !isASCII(s) {
		if compat := norm.NFKC.String(s); compat != s && (!isClean(compat) || !fits(a.compat, compat)) {
			return false
		}
	}
	if real == nil || len(s) > maxPath || !strings.ContainsAny(s, `/\`) {
		return true
	}
	r := real(s)
	return r == "" || fits(a.pieces, r) || fits(a.realPieces(real), r)
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

// isClean reports whether s has nothing that a server could read as another place than it looks like.
func isClean(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}) {
		return false
	}
	lower := strings.ToLower(s)
	for _, hidden := range [...]string{"%2e", "%2f", "%5c", "%25", "%00"} {
		if strings.Contains(lower, hidden) {
			return false
		}
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok && isScheme(scheme) {
		s = rest
	}
	elements := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' })
	for _, e := range elements {
		if strings.Trim(e, ". ") == "" {
			return false
		}
	}
	return !strings.Contains(strings.ReplaceAll(s, `\`, "/"), "//")
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
