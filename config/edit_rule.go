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
	if !slices.Contains(ruleLists, list) {
		return false, errors.New("a rule goes into one of " + strings.Join(ruleLists, ", "))
	}
	if why := badPattern(pattern); why != "" {
		return false, errors.New(why)
	}
	if !hashForm.MatchString(entry) {
		return false, errors.New(`the entry must be a hash, "sha256:" and 64 digits`)
	}
	return editFile(path, func(d *document, _ bool) ([]change, error) {
		return d.addRule(list, Rule{Pattern: pattern, Entry: entry})
	})
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
