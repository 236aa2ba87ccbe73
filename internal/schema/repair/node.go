package repair

import (
	"encoding/json"
	"slices"

	"github.com/usher-mcp/usher/mcp"
)

// node is a schema that is being written: never a boolean.
type node struct {
	members []member
	tell    []string // sentences for the description
}

// member is a keyword. One of the values is set.
type member struct {
	key   string
	raw   json.RawMessage
	sub   *node
	list  []*node
	named []named
	names bool // named is set, maybe empty
}

// named is a property, or another entry of a map of schemas.
type named struct {
	name string
	node *node
}

func nothing() *node { return &node{members: []member{{key: "not", sub: &node{}}}} }

func (n *node) get(key string) *member {
	for i := range n.members {
		if n.members[i].key == key {
			return &n.members[i]
		}
	}
	return nil
}

// set replaces a member in its place or appends it.
func (n *node) set(m member) {
	if old := n.get(m.key); old != nil {
		*old = m
		return
	}
	n.members = append(n.members, m)
}

func (n *node) drop(keys ...string) {
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return slices.Contains(keys, m.key) })
}

func (n *node) text(key string) string {
	if m := n.get(key); m != nil {
		return mcp.Text(m.raw)
	}
	return ""
}

func (n *node) properties() []named {
	if m := n.get("properties"); m != nil {
		return m.named
	}
	return nil
}

func (n *node) required() []string {
	var names []string
	if m := n.get("required"); m != nil {
		for e := range mcp.Elements(m.raw) {
			names = append(names, mcp.Text(e))
		}
	}
	return names
}

func (n *node) setRequired(names []string) {
	if len(names) == 0 {
		n.drop("required")
		return
	}
	n.set(member{key: "required", raw: quoteAll(names)})
}

func quoteAll(names []string) json.RawMessage {
	b := []byte{'['}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, mcp.Quote(name)...)
	}
	return append(b, ']')
}

// has reports whether the type, which may be an array of types, names t.
func (n *node) has(t string) bool {
	m := n.get("type")
	if m == nil {
		return false
	}
	if mcp.Text(m.raw) == t {
		return true
	}
	for e := range mcp.Elements(m.raw) {
		if mcp.Text(e) == t {
			return true
		}
	}
	return false
}

// describe moves what is to be told into the description.
func (n *node) describe() {
	for _, s := range n.tell {
		if old := n.text("description"); old != "" {
			s = old + "\n" + s
		}
		n.set(member{key: "description", raw: mcp.Quote(s)})
	}
	n.tell = nil
}

func (n *node) encode() json.RawMessage { return n.append(nil) }

func (n *node) append(b []byte) []byte {
	b = append(b, '{')
	for i, m := range n.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, mcp.Quote(m.key)...), ':')
		b = m.append(b)
	}
	return append(b, '}')
}

func (m *member) append(b []byte) []byte {
	switch {
	case m.sub != nil:
		return m.sub.append(b)
	case m.names:
		b = append(b, '{')
		for i, p := range m.named {
			if i > 0 {
				b = append(b, ',')
			}
			b = p.node.append(append(append(b, mcp.Quote(p.name)...), ':'))
		}
		return append(b, '}')
	case m.list != nil:
		b = append(b, '[')
		for i, n := range m.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = n.append(b)
		}
		return append(b, ']')
	}
	return append(b, m.raw...)
}
