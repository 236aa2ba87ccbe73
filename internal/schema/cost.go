package schema

import (
	"math/bits"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// affordable reports whether checking v stays within maxCost. Nearly always the schema's own bound tells; else, for a
// recursive schema or a large value, it counts.
func (i *info) affordable(root *jsonschema.Schema, v any) bool {
	weight := parts(v, i.unique)
	if hi, lo := bits.Mul(uint(i.whole), uint(weight)); i.whole < maxCost && hi == 0 && lo <= maxCost {
		return true
	}
	if weight > maxCost {
		return false
	}
	m := &meter{info: i, known: map[place]int{}}
	return m.cost(root, newNode(v, i.unique)) <= maxCost && !m.lost
}

// node is a part of a value, with an address.
type node struct {
	kind   string
	weight int // without what lies below
	props  map[string]*node
	items  []*node
}

func newNode(v any, unique bool) *node {
	n := &node{kind: typeName(v), weight: 1}
	switch v := v.(type) {
	case map[string]any:
		n.props = make(map[string]*node, len(v))
		for key, child := range v {
			n.weight += 1 + len(key)/64
			n.props[key] = newNode(child, unique)
		}
	case []any:
		n.weight += len(v)
		for _, child := range v {
			n.items = append(n.items, newNode(child, unique))
			if unique {
				n.weight += len(v) / 8
			}
		}
	default:
		n.weight = parts(v, unique)
	}
	return n
}

type place struct {
	s *jsonschema.Schema
	n *node
}

// meter counts an upper bound of the steps that the library takes. It visits each pair of a schema and a part once,
// where the library may visit it any number of times.
type meter struct {
	info  *info
	known map[place]int
	lost  bool // too many pairs
}

func (m *meter) cost(s *jsonschema.Schema, n *node) int {
	at := place{s, n}
	if c, ok := m.known[at]; ok {
		return c
	}
	if len(m.known) > maxCost/4 {
		m.lost = true
	}
	if m.lost {
		return maxCost + 1
	}
	c := m.info.all[s]
	if takes(s, n.kind) {
		c = m.all(s, n, c*n.weight)
	}
	m.known[at] = c
	return c
}

func (m *meter) all(s *jsonschema.Schema, n *node, c int) int {
	add := func(sub *jsonschema.Schema, part *node) {
		if sub != nil && c <= maxCost {
			c = min(c+m.cost(sub, part), maxCost+1)
		}
	}
	for sub := range here(s) {
		add(sub, n)
	}
	every := everyPart(s)
	for key, part := range n.props {
		add(s.Properties[key], part)
		for re, sub := range s.PatternProperties {
			if re.MatchString(key) {
				add(sub, part)
			}
		}
		add(s.PropertyNames, &node{kind: "string", weight: 1 + len(key)/64})
		for _, sub := range every {
			add(sub, part)
		}
	}
	tuple, _ := s.Items.([]*jsonschema.Schema)
	if s.PrefixItems != nil {
		tuple = s.PrefixItems
	}
	for i, part := range n.items {
		if i < len(tuple) {
			add(tuple[i], part)
		}
		for _, sub := range every {
			add(sub, part)
		}
	}
	return c
}

// takes reports whether s goes on after it looked at the value's type, which it does first.
func takes(s *jsonschema.Schema, kind string) bool {
	if s.Types == nil || s.Types.IsEmpty() {
		return true
	}
	for _, t := range s.Types.ToStrings() {
		if t == kind || t == "integer" && kind == "number" {
			return true
		}
	}
	return false
}
