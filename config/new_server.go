package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// newEntry makes an item of a JSON object, with its members in their order.
func newEntry(entry json.RawMessage) (node, error) {
	if !json.Valid(entry) {
		return node{}, errors.New(`it is not JSON; write {"command": "…"} or {"url": "https://…"}`)
	}
	d, err := parseDocument("", entry)
	if p, ok := errors.AsType[*Problem](err); ok {
		return node{}, errors.New(p.Message)
	}
	n := nodeOf(d.root)
	n.spread = true
	return n, nil
}

func nodeOf(v hujson.Value) node {
	switch c := v.Value.(type) {
	case *hujson.Object:
		n := node{kind: '{'}
		for _, m := range c.Members {
			n.items = append(n.items, item{textOf(m.Name), nodeOf(m.Value)})
		}
		return n
	case *hujson.Array:
		n := node{kind: '['}
		for _, e := range c.Elements {
			n.items = append(n.items, item{value: nodeOf(e)})
		}
		return n
	}
	return node{text: string(v.Value.(hujson.Literal))}
}

func (d *document) addServer(name string, entry node) ([]change, error) {
	content := node{kind: '{', spread: true, items: []item{{name, entry}}}
	root := node{kind: '{', spread: true, items: []item{{"mcpServers", content}}}
	if d.blank {
		return d.fill(root), nil
	}
	box := d.rootBox()
	f, ok := box.find("mcpServers")
	if !ok {
		f, ok = box.find("servers")
	}
	if !ok {
		return box.insert(root.items[0]), nil
	}
	if f.value.Value.Kind() != '{' {
		p := d.problem(f.value.StartOffset, f.path, `expected an object; write {} here first`)
		return nil, &p
	}
	all := box.inner(f)
	entry.spread = all.count == 0 || all.spreadsObjects()
	return all.insert(item{name, entry}), nil
}

// spreadsObjects says whether an object in b has its members on lines of their own.
func (b *box) spreadsObjects() bool {
	object, _ := b.value.Value.(*hujson.Object)
	return slices.ContainsFunc(fieldsOf(object, b.path), func(f field) bool {
		return f.value.Value.Kind() == '{' && newBox(b.doc, f).spread
	})
}

// checkAdded reads the file as it would be. Its variables may be set elsewhere.
func (d *document) checkAdded(name string, changes []change) error {
	after, err := parseForEdit(d.name, d.apply(changes))
	if err != nil {
		return err
	}
	_, f, err := after.server(name)
	if err != nil {
		return err
	}
	r := newReader(after, From{})
	r.lenient = true
	if err := r.readRoot(); err != nil {
		return err
	}
	if slices.ContainsFunc(r.cfg.Servers, func(s Server) bool { return s.Name == name }) {
		return nil
	}
	var all []string
	for _, p := range r.cfg.Problems {
		if rest, ok := strings.CutPrefix(p.Field, f.path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			// The line that it would have had tells nobody anything.
			all = append(all, strings.TrimPrefix(strings.TrimPrefix(rest+": ", "."), ": ")+p.Message)
		}
	}
	return fmt.Errorf("the entry of %s: %s", quoteName(name), strings.Join(all, "; also "))
}
