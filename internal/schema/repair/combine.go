package repair

import (
	"bytes"
	"encoding/json"
	"slices"
)

// both is what fits two schemas.
func both(a, b *node) *node {
	switch {
	case len(a.members) == 0 || bytes.Equal(a.encode(), b.encode()):
		return b
	case len(b.members) == 0:
		return a
	case !apart(a, b):
		return &node{members: []member{{key: "allOf", list: []*node{a, b}}}}
	}
	out := &node{members: slices.Clone(a.members)}
	for _, m := range b.members {
		if out.get(m.key) == nil {
			out.members = append(out.members, m)
		}
	}
	return out
}

// linked are keywords that change what others mean.
var linked = []string{"properties", "patternProperties", "additionalProperties", "items", "prefixItems", "contains", "minContains",
	"maxContains", "if", "then", "else"}

// apart reports whether the keywords of two schemas can stand in one.
func apart(a, b *node) bool {
	structure := func(n *node) bool {
		return slices.ContainsFunc(n.members, func(m member) bool { return slices.Contains(linked, m.key) })
	}
	if structure(a) && structure(b) {
		return false
	}
	for _, m := range b.members {
		if old := a.get(m.key); old != nil && !annotates(m.key) && !bytes.Equal(old.append(nil), m.append(nil)) {
			return false
		}
	}
	return true
}

// either is what fits any of the schemas.
func either(list []*node) *node {
	var out []*node
	seen := map[string]bool{}
	for _, n := range list {
		if len(n.members) == 0 {
			return n
		}
		if text := string(n.encode()); !seen[text] {
			seen[text] = true
			out = append(out, n)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	if n := oneEnum(out); n != nil {
		return n
	}
	return &node{members: []member{{key: "anyOf", list: out}}}
}

// oneEnum joins alternatives that only list values, nil for others.
func oneEnum(list []*node) *node {
	var all [][]byte
	seen := map[string]bool{}
	first := list[0]
	for _, n := range list {
		given, ok := values(n)
		if !ok {
			return nil
		}
		for _, v := range given {
			if !seen[string(v)] {
				seen[string(v)] = true
				all = append(all, v)
			}
		}
	}
	out := &node{}
	same := !slices.ContainsFunc(list, func(n *node) bool { return n.get("type") == nil || n.text("type") != first.text("type") })
	for _, key := range []string{"type", "title", "description"} {
		if m := first.get(key); m != nil && (key != "type" || same && first.text("type") != "") {
			out.set(*m)
		}
	}
	out.set(member{key: "enum", raw: json.RawMessage(slices.Concat([]byte{'['}, bytes.Join(all, []byte{','}), []byte{']'}))})
	return out
}
