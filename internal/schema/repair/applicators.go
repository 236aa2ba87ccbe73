package repair

import (
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

// one writes a keyword whose value is a schema.
func (o *object) one(key string, value json.RawMessage) {
	before := o.loosened
	switch {
	case key == "additionalProperties" && (value[0] == 't' || value[0] == 'f'):
		o.node.set(member{key: key, raw: value})
		return
	case key == "items" && value[0] == '[':
		o.tuple(value)
		return
	case key == "additionalItems":
		o.rest(value)
		return
	case key == "items" && o.node.get("items") != nil:
		return // additionalItems took its place
	}
	sub := o.schema(value, o.place.at(key))
	loose := o.loosened != before
	switch {
	case key == "not" && loose:
		o.tidy(o.place, "not is left out, since it would rule out more")
		return
	case key == "if" && loose:
		o.void = append(o.void, "if", "then", "else")
		o.tidy(o.place, "if is left out, since it would hold for more")
	case key == "contains" && loose:
		o.void = append(o.void, "maxContains")
	case key == "propertyNames" && o.source.odd:
		o.loosened++
		o.tidy(o.place, "propertyNames is left out, since names change")
		return
	}
	o.node.set(member{key: key, sub: sub})
}

// tuple writes an array of items as prefixItems.
func (o *object) tuple(value json.RawMessage) {
	o.note(o.place, "an array of items is written as prefixItems")
	if mcp.Member(o.src, "prefixItems") == nil {
		o.several("prefixItems", value)
	} else {
		o.loosened++
	}
}

// rest writes additionalItems, which means something only beside an array of items.
func (o *object) rest(value json.RawMessage) {
	if items := mcp.Member(o.src, "items"); len(items) == 0 || items[0] != '[' {
		o.tidy(o.place, "an additionalItems that has no effect is left out")
		return
	}
	o.tidy(o.place, "additionalItems is written as items")
	o.node.set(member{key: "items", sub: o.schema(value, o.place.at("items"))})
}

// several writes a keyword whose value is an array of schemas.
func (o *object) several(key string, value json.RawMessage) {
	if value[0] != '[' || !some(value) {
		o.lose(o.place, key+" has a value that it can't have, and is left out")
		return
	}
	var list []*node
	for e := range mcp.Elements(value) {
		list = append(list, o.schema(e, o.place.at(key)))
	}
	switch {
	case key == "oneOf" && mcp.Member(o.src, "anyOf") != nil:
		o.also = append(o.also, &node{members: []member{{key: "anyOf", list: list}}})
		fallthrough
	case key == "oneOf":
		o.loosened++
		o.tidy(o.place, "oneOf is written as anyOf")
		if o.node.get("anyOf") != nil || mcp.Member(o.src, "anyOf") != nil {
			return
		}
		key = "anyOf"
	}
	o.node.set(member{key: key, list: list})
}

// named writes a keyword whose value maps names to schemas.
func (o *object) named(key string, value json.RawMessage) {
	m := member{key: key, names: true}
	if value[0] != '{' {
		o.lose(o.place, key+" has a value that it can't have, and is left out")
		return
	}
	if key == "patternProperties" && !o.patterns(value) {
		return
	}
	for k, v := range mcp.Members(value) {
		name := mcp.Text(k)
		to, step := name, key
		if key != "patternProperties" {
			to = o.names.rename(name)
			step = to
		}
		sub := o.schema(v, o.place.at(step))
		if to != name {
			o.renamed(name, to)
			if key == "properties" {
				sub.tell = append(sub.tell, "Original name: "+visible(clip(name, 200)))
				sub.describe()
			}
		}
		m.named = append(m.named, named{to, sub})
	}
	o.node.set(m)
}

// patterns reports whether patternProperties can stay; else the names that it allowed must be allowed without it.
func (o *object) patterns(value json.RawMessage) bool {
	ok := !o.source.odd
	for k := range mcp.Members(value) {
		ok = ok && portable(mcp.Text(k))
	}
	if !ok {
		o.lose(o.place, "patternProperties is left out, since names change or a pattern can't be compiled everywhere")
		o.void = append(o.void, "additionalProperties")
	}
	return ok
}

// dependencies writes what 2019-09 parted in two.
func (o *object) dependencies(value json.RawMessage) {
	if value[0] != '{' || mcp.Member(o.src, "dependentRequired") != nil || mcp.Member(o.src, "dependentSchemas") != nil {
		o.loosened++
		o.tidy(o.place, "dependencies is left out")
		return
	}
	o.tidy(o.place, "dependencies is written as dependentRequired and dependentSchemas")
	var lists, schemas []byte
	for k, v := range mcp.Members(value) {
		to := &schemas
		if v[0] == '[' {
			to = &lists
		}
		*to = append(append(append(append(*to, ','), k...), ':'), v...)
	}
	if len(lists) > 0 {
		o.nameLists("dependentRequired", kindNameMap, append(append([]byte{'{'}, lists[1:]...), '}'))
	}
	if len(schemas) > 0 {
		o.named("dependentSchemas", append(append([]byte{'{'}, schemas[1:]...), '}'))
	}
}

// finish adds what the APIs miss.
func (o *object) finish() {
	n := o.node
	n.drop(o.void...)
	if len(o.also) > 0 {
		all := member{key: "allOf", list: o.also}
		if old := n.get("allOf"); old != nil {
			all.list = append(old.list, o.also...)
		}
		n.set(all)
	}
	o.complete(n, o.place)
	n.describe()
}

func (w *walker) complete(n *node, p place) {
	w.declare(n, p)
	if n.has("object") && n.get("properties") == nil {
		w.note(p, "an object gets the properties that it lacks")
		n.set(member{key: "properties", names: true})
	}
	if n.has("array") && n.get("items") == nil {
		w.note(p, "an array gets the items that it lacks")
		n.set(member{key: "items", sub: &node{}})
	}
}

// declare gives each required name a property.
func (w *walker) declare(n *node, p place) {
	known := map[string]bool{}
	m := member{key: "properties", names: true}
	if old := n.get("properties"); old != nil {
		m = *old
	}
	for _, prop := range m.named {
		known[prop.name] = true
	}
	before := len(m.named)
	for _, name := range n.required() {
		if !known[name] {
			m.named = append(m.named, named{name, &node{}})
		}
	}
	if len(m.named) == before {
		return
	}
	w.note(p, "required names get the property that they lack")
	if n.get("additionalProperties") != nil || n.get("patternProperties") != nil {
		w.loosened++
	}
	n.set(m)
}
