package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// reader turns a document into a Config.
type reader struct {
	doc  *document
	env  func(string) (string, bool)
	from From
	cfg  *Config
	// names holds the line of each server's name, taken also by a broken entry.
	names map[string]int
	// base is what a server's entry starts from: the profile's preset and defaults.
	base, preset lifecycle.Settings
	// lenient entries may lack variables.
	lenient bool
	// folder is the one under projects that is read. Empty for all other sources.
	folder string
	// harmless counts those of cfg.Problems by which nothing is lost that would forbid.
	harmless int
	// kept is what the keyring has answered.
	kept map[string]kept
}

func newReader(doc *document, from From) *reader {
	if from.Env == nil {
		from.Env = func(string) (string, bool) { return "", false }
	}
	from.Source = cmp.Or(from.Source, SourceUser)
	return &reader{doc: doc, env: from.Env, from: from, cfg: empty(doc.name), names: make(map[string]int), kept: make(map[string]kept)}
}

// field is a value and its path, for messages.
type field struct {
	name  string // its own name, as written
	path  string
	key   int // offset of the name, or of the value where there is none
	value hujson.Value
}

func (r *reader) report(offset int, path, message string) {
	r.cfg.Problems = append(r.cfg.Problems, r.doc.problem(offset, path, message))
}

// bad reports a value of the wrong kind.
func (r *reader) bad(f field, message string) { r.report(f.value.StartOffset, f.path, message) }

// members returns the members of an object, or reports that f is none.
func (r *reader) members(f field, example string) ([]field, bool) {
	object, ok := f.value.Value.(*hujson.Object)
	if !ok {
		r.bad(f, "expected an object; write "+example)
		return nil, false
	}
	return fieldsOf(object, f.path), true
}

func fieldsOf(object *hujson.Object, path string) []field {
	var out []field
	for _, m := range object.Members {
		name := textOf(m.Name)
		out = append(out, field{name, member(path, name), m.Name.StartOffset, m.Value})
	}
	return out
}

// elements returns the elements of a list, or reports that f is none.
func (r *reader) elements(f field) ([]field, bool) {
	array, ok := f.value.Value.(*hujson.Array)
	if !ok {
		r.bad(f, `expected a list of strings; write ["…"]`)
		return nil, false
	}
	var out []field
	for i, e := range array.Elements {
		out = append(out, field{"", element(f.path, i), e.StartOffset, e})
	}
	return out, true
}

// text returns a string without NUL, or reports.
func (r *reader) text(f field) (string, bool) {
	if f.value.Value.Kind() != '"' {
		r.bad(f, `expected a string; write "…"`)
		return "", false
	}
	s := textOf(f.value)
	if strings.ContainsRune(s, 0) {
		r.bad(f, `a NUL character can't be passed on; remove \u0000`)
		return "", false
	}
	return s, true
}

func (r *reader) flag(f field) (value, ok bool) {
	switch f.value.Value.Kind() {
	case 't', 'f':
		return f.value.Value.Kind() == 't', true
	}
	r.bad(f, "expected true or false")
	return false, false
}

// unknown says that a field is not known, and which one may be meant.
func unknown(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return `unknown field, did you mean "` + near + `"? It is ignored`
	}
	shown := slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "$schema" || s == "servers" })
	return "unknown field, ignored; known are " + strings.Join(shown, ", ")
}
