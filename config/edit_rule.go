package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// AddBoundRule adds a rule for one server's entry, by its Hash, as AddRule does for others. Such a rule reaches the entry
// whatever its source, and no other.
func AddBoundRule(path, list, pattern, entry string) (changed bool, err error) {
	if entry == "" {
		return false, errors.New(badEntry)
	}
	return WriteRule(path, list, Rule{Pattern: pattern, Entry: entry})
}

const badEntry = `the entry must be a hash, "sha256:" and 64 digits`

// WriteRule adds a rule that may have a condition and be bound to an entry, as AddRule does for others. Whether the
// condition can be understood isn't looked at. Its File, Line and Source don't matter.
func WriteRule(path, list string, r Rule) (changed bool, err error) {
	if !slices.Contains(ruleLists, list) {
		return false, errors.New("a rule goes into one of " + strings.Join(ruleLists, ", "))
	}
	switch why := badPattern(r.Pattern); {
	case why != "":
		return false, errors.New(why)
	case r.Entry != "" && !hashForm.MatchString(r.Entry):
		return false, errors.New(badEntry)
	case r.When != "" && badCondition(r.When) != "":
		return false, errors.New(badCondition(r.When))
	}
	return editFile(path, func(d *document, _ bool) ([]change, error) { return d.addRule(list, r) })
}

// RemoveRule takes the rules with this pattern out of one list, also those with a condition or an entry, with the lines
// that they have of their own. changed is false, and the file untouched, if there is none. It writes as AddRule does.
func RemoveRule(path, list, pattern string) (changed bool, err error) {
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		if d.blank {
			return nil, nil
		}
		f, ok := d.rootBox().find("permissions")
		if !ok || f.value.Value.Kind() != '{' {
			return nil, nil
		}
		permissions := d.rootBox().inner(f)
		if f, ok = permissions.find(list); !ok {
			return nil, nil
		}
		array, ok := f.value.Value.(*hujson.Array)
		if !ok {
			p := d.problem(f.value.StartOffset, f.path, `expected a list of strings; write ["…"] here first`)
			return nil, &p
		}
		var found []int
		for i, e := range array.Elements {
			if patternOf(e) == pattern {
				found = append(found, i)
			}
		}
		if len(found) == 0 {
			return nil, nil
		}
		return permissions.inner(f).cutElements(found), nil
	})
}

// patternOf is what an element of a list of rules says of tools, in either way to write it.
func patternOf(v hujson.Value) string {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return textOf(v)
	}
	for _, f := range fieldsOf(object, "") {
		if f.name == "rule" {
			return textOf(f.value)
		}
	}
	return ""
}

// SetMode writes permissions.mode, one of the constants, as AddRule writes a rule.
func SetMode(path, mode string) (changed bool, err error) {
	if !slices.Contains(modes, mode) {
		return false, errors.New("a mode is one of " + strings.Join(modes, ", "))
	}
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		permissions, missing, err := d.permissions("mode", literal(mode))
		if err != nil || missing != nil {
			return missing, err
		}
		f, ok := permissions.find("mode")
		switch {
		case !ok:
			return permissions.insert(item{"mode", literal(mode)}), nil
		case f.value.Value.Kind() == '"' && textOf(f.value) == mode:
			return nil, nil
		}
		return []change{{f.value.StartOffset, f.value.EndOffset, literal(mode).text}}, nil
	})
}

// ruleNode is a string where that says it all.
func ruleNode(r Rule) node {
	if r.When == "" && r.Entry == "" {
		return literal(r.Pattern)
	}
	return objectNode([][2]string{{"rule", r.Pattern}, {"when", r.When}, {"entry", r.Entry}})
}

// objectNode has the members that are not empty, on one line.
func objectNode(members [][2]string) node {
	n := node{kind: '{'}
	for _, m := range members {
		if m[1] != "" {
			n.items = append(n.items, item{m[0], literal(m[1])})
		}
	}
	return n
}

// isRule reports whether an element says what the rule does, in either way to write it.
func isRule(v hujson.Value, r Rule) bool {
	if v.Value.Kind() == '"' {
		return r.When == "" && r.Entry == "" && textOf(v) == r.Pattern
	}
	return isObjectOf(v, map[string]string{"rule": r.Pattern, "when": r.When, "entry": r.Entry})
}

// isObjectOf reports whether v is an object of these texts, where "" isn't there, and of nothing else.
func isObjectOf(v hujson.Value, texts map[string]string) bool {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	left := 0
	for _, s := range texts {
		if s != "" {
			left++
		}
	}
	for _, f := range fieldsOf(object, "") {
		if want, known := texts[f.name]; !known || want == "" || f.value.Value.Kind() != '"' || textOf(f.value) != want {
			return false
		}
		left--
	}
	return left == 0
}
