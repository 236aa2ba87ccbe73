package repair

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// root makes an object with properties of the whole.
func (w *walker) root(n *node, p place) *node {
	n = w.flat(n, p)
	for _, key := range []string{"not", "enum", "const"} {
		if n.get(key) != nil {
			w.lose(p, key+" is left out")
			n.drop(key)
		}
	}
	if n.text("type") != "object" {
		w.note(p, "the type is object")
		object := member{key: "type", raw: json.RawMessage(`"object"`)}
		if n.get("type") == nil {
			n.members = append([]member{object}, n.members...)
		}
		n.set(object)
	}
	w.complete(n, p)
	n.describe()
	return n
}

// flat merges allOf and anyOf into the object itself.
func (w *walker) flat(n *node, p place) *node {
	all, some := n.get("allOf"), n.get("anyOf")
	if all == nil && some == nil {
		return n
	}
	f := newMerge(n)
	if all != nil {
		w.lose(p, "allOf is merged into the object")
		for _, e := range all.list {
			f.and(w.flat(e, p))
		}
	}
	if some != nil {
		w.lose(p, "alternatives are merged into the object")
		f.or(w.objects(some.list, p))
	}
	return f.node()
}

// objects leaves out the alternatives that no object fits.
func (w *walker) objects(list []*node, p place) []*node {
	var out []*node
	for _, n := range list {
		if n.get("type") != nil && !n.has("object") {
			continue
		}
		if m := n.get("not"); m != nil && len(m.sub.members) == 0 {
			continue
		}
		out = append(out, w.flat(n, p))
	}
	return out
}

// merge is an object that others are merged into.
type merge struct {
	base     *node
	order    []string
	props    map[string]*node
	narrowed map[string]int
	required []string
	needed   map[string]bool
	closed   bool
	tell     []string
}

func newMerge(n *node) *merge {
	f := &merge{base: n, props: map[string]*node{}, narrowed: map[string]int{}, needed: map[string]bool{}, closed: closed(n)}
	f.require(n.required())
	for _, p := range n.properties() {
		f.declare(p.name, p.node)
	}
	return f
}

func closed(n *node) bool {
	m := n.get("additionalProperties")
	return m != nil && string(m.raw) == "false" && n.get("patternProperties") == nil
}

func (f *merge) require(names []string) {
	for _, name := range names {
		if !f.needed[name] {
			f.needed[name] = true
			f.required = append(f.required, name)
		}
	}
}

// maxNarrowed bounds how often one property is narrowed, since all that was said of it is compared each time.
const maxNarrowed = 16

// declare adds a property, or narrows it.
func (f *merge) declare(name string, n *node) {
	if old, ok := f.props[name]; ok {
		if f.narrowed[name]++; f.narrowed[name] > maxNarrowed {
			return
		}
		n = both(old, n)
	} else {
		f.order = append(f.order, name)
	}
	f.props[name] = n
}

// and merges what must hold too.
func (f *merge) and(e *node) {
	for _, p := range e.properties() {
		f.declare(p.name, p.node)
	}
	f.require(e.required())
	f.closed = f.closed || closed(e)
	for _, key := range []string{"title", "description"} {
		if m := e.get(key); m != nil && f.base.get(key) == nil {
			f.base.set(*m)
		}
	}
}

// or merges alternatives: what all of them require, and of each property what any of them says.
func (f *merge) or(branches []*node) {
	switch len(branches) {
	case 0:
		return
	case 1:
		f.and(branches[0])
		return
	}
	f.describe(branches)
	uses, needs := map[string][]*node{}, map[string]int{}
	var order, required []string
	allClosed := true
	for _, b := range branches {
		allClosed = allClosed && closed(b)
		for _, name := range b.required() {
			if needs[name]++; needs[name] == len(branches) {
				required = append(required, name)
			}
		}
		for _, p := range b.properties() {
			if uses[p.name] == nil {
				order = append(order, p.name)
			}
			uses[p.name] = append(uses[p.name], p.node)
		}
	}
	for _, name := range order {
		if f.props[name] == nil || len(uses[name]) == len(branches) {
			f.declare(name, either(uses[name]))
		}
	}
	f.require(required)
	f.closed = f.closed || allClosed
}

// describe lists the alternatives if they can be told apart by what they require.
func (f *merge) describe(branches []*node) {
	const most = 20
	var forms []string
	for _, b := range branches[:min(len(branches), most)] {
		form := f.form(b)
		if form == "" {
			return
		}
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	if len(forms) < 2 {
		return
	}
	if len(branches) > most {
		forms = append(forms, "…")
	}
	f.tell = append(f.tell, "Needs one of: "+clip(strings.Join(forms, "; "), 800)+".")
}

func (f *merge) form(b *node) string {
	var parts []string
	fixed := map[string]string{}
	for _, p := range b.properties() {
		if values, ok := values(p.node); ok && len(values) == 1 && len(values[0]) <= 60 {
			fixed[p.name] = string(values[0])
		}
	}
	for _, name := range b.required() {
		switch v, ok := fixed[name]; {
		case ok:
			parts = append(parts, name+" = "+v)
		case !f.needed[name]:
			parts = append(parts, name)
		}
		if len(parts) == 10 {
			break
		}
	}
	return strings.Join(parts, " and ")
}

func (f *merge) node() *node {
	n := f.base
	n.drop("allOf", "anyOf")
	if f.closed {
		n.set(member{key: "additionalProperties", raw: json.RawMessage("false")})
	}
	m := member{key: "properties", names: true}
	for _, name := range f.order {
		m.named = append(m.named, named{name, f.props[name]})
	}
	n.set(m)
	n.setRequired(f.required)
	n.tell = append(n.tell, f.tell...)
	n.describe()
	return n
}

// values returns what an enum or const allows; false for a schema that says more than that.
func values(n *node) (list []json.RawMessage, ok bool) {
	for _, m := range n.members {
		switch {
		case m.key == "const" && !ok:
			list, ok = []json.RawMessage{m.raw}, true
		case m.key == "enum" && !ok:
			for e := range mcp.Elements(m.raw) {
				list = append(list, e)
			}
			ok = true
		case m.key != "type" && !annotates(m.key):
			return nil, false
		}
	}
	return list, ok
}
