package config

import (
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// MaxMembers is the size in bytes of the largest file that Members and EditMembers take: other products keep more in
// their files than a configuration.
const MaxMembers = 64 << 20

// Member is a member of an object in a JSON file of another product.
type Member struct {
	Name  string
	Value json.RawMessage // without comments and trailing commas
	Text  string          // as it stands in the file
	Line  int             // from 1, of the name
}

// Members returns the members of the object at path, in their order; none where there is no such object. Comments, trailing
// commas and a byte order mark are allowed. file is for the error, which is a *Problem where the data can't be read, or
// where a name on the way is there twice. The result shares nothing with data.
func Members(file string, data []byte, path ...string) ([]Member, error) {
	d, err := parseMembers(file, data)
	if err != nil || d.blank {
		return nil, err
	}
	b, ok := d.rootBox(), true
	for _, name := range path {
		var f field
		if f, ok = b.find(name); !ok || f.value.Value.Kind() != '{' {
			return nil, nil
		}
		b = b.inner(f)
	}
	var all []Member
	for _, f := range fieldsOf(b.value.Value.(*hujson.Object), b.path) {
		line, _ := d.place(f.key)
		value := f.value.Clone()
		value.Standardize()
		value.BeforeExtra, value.AfterExtra = nil, nil
		all = append(all, Member{f.name, value.Pack(), string(d.data[f.value.StartOffset:f.value.EndOffset]), line})
	}
	return all, d.repeatedOn(path)
}

// MemberEdit is one change of a JSON file.
type MemberEdit struct {
	Path  []string // names from the root to the member; not empty
	Value string   // JSON; "" takes the member out
	AsIs  bool     // Value goes in as it is written; else it is laid out as its neighbours are
}

// EditMembers makes the changes one after the other: a member that is there is changed in its place, one that isn't goes
// behind the others, with the objects on its way. Taking out what isn't there changes nothing. All else stays to the byte:
// comments, order, indentation, line ends, the byte order mark. Errors are as those of Members.
func EditMembers(file string, data []byte, edits ...MemberEdit) ([]byte, error) {
	for _, e := range edits {
		d, err := parseMembers(file, data)
		if err != nil {
			return nil, err
		}
		if err := d.repeatedOn(e.Path); err != nil {
			return nil, err
		}
		changes, err := d.editMember(e)
		if err != nil {
			return nil, err
		}
		data = d.apply(changes)
	}
	return data, nil
}

func parseMembers(file string, data []byte) (*document, error) {
	d, err := parseWithin(file, data, MaxMembers)
	if p, ok := err.(*Problem); ok && p.Message == msgNoObject {
		p.Message = "expected an object; write {…}"
	}
	return d, err
}

// repeatedOn finds a name on the path, or beside its end, that is there twice.
func (d *document) repeatedOn(path []string) error {
	for _, r := range d.repeated {
		for i, s := range r.path {
			last := i == len(r.path)-1
			if s.index >= 0 || i > len(path) || i == len(path) && !last || i < len(path) && s.name != path[i] {
				break
			}
			if last {
				p := d.problem(r.offset, r.field(), msgRepeated)
				return &p
			}
		}
	}
	return nil
}

func (d *document) editMember(e MemberEdit) ([]change, error) {
	content, err := e.node()
	if err != nil {
		return nil, err
	}
	if d.blank {
		if e.Value == "" {
			return nil, nil
		}
		return d.fill(wrapped(e.Path, content)), nil
	}
	b, last := d.rootBox(), len(e.Path)-1
	for i, name := range e.Path {
		f, ok := b.find(name)
		switch {
		case !ok && e.Value == "":
			return nil, nil
		case !ok:
			inside := wrapped(e.Path[i+1:], content)
			b.likeSiblings(&inside, i == last)
			return b.insert(item{name, inside}), nil
		case i == last && e.Value == "":
			return b.cut(f), nil
		case i == last:
			return b.replaceMember(f, content), nil
		case f.value.Value.Kind() != '{':
			p := d.problem(f.value.StartOffset, f.path, "expected an object; write {} here first")
			return nil, &p
		}
		b = b.inner(f)
	}
	return nil, nil
}

// node is the value to write.
func (e MemberEdit) node() (node, error) {
	if e.AsIs || e.Value == "" {
		return node{text: e.Value}, nil
	}
	v, err := hujson.Parse([]byte(e.Value))
	if err != nil {
		return node{}, err
	}
	n := nodeOf(v)
	n.spread = n.kind == '{'
	return n, nil
}

// wrapped puts a value into the objects of a path.
func wrapped(path []string, n node) node {
	for _, name := range slices.Backward(path) {
		n = node{kind: '{', spread: true, items: []item{{name, n}}}
	}
	return n
}

// likeSiblings spreads a new member of b as the others of its kind are.
func (b *box) likeSiblings(n *node, isEntry bool) {
	if !isEntry || b.count == 0 {
		return
	}
	n.spread = n.spread && b.spreadsObjects()
	object, _ := b.value.Value.(*hujson.Object)
	if slices.ContainsFunc(fieldsOf(object, b.path), func(f field) bool { return f.value.Value.Kind() == '{' && newBox(b.doc, f).spreadsLists() }) {
		for i := range n.items {
			n.items[i].value.spread = len(n.items[i].value.items) > 0
		}
	}
}

// replaceMember lays the new value out as the old one.
func (b *box) replaceMember(f field, n node) []change {
	if old := newBox(b.doc, f); n.kind != 0 && old.count > 0 {
		n.spread = old.spread
		spreads := f.value.Value.Kind() == '{' && old.spreadsLists()
		for i := range n.items {
			n.items[i].value.spread = spreads && len(n.items[i].value.items) > 0
		}
	}
	text := b.render(n, b.doc.indentAt(f.key), true)
	return []change{{f.value.StartOffset, f.value.EndOffset, text}}
}
