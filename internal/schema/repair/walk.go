package repair

import (
	"encoding/json"

	"github.com/usher-mcp/usher/mcp"
)

// walker writes the schema anew within one bound.
type walker struct {
	source  *source
	limit   bound
	names   *names
	changes changes

	nodes, bytes int  // that references were written out to
	over         bool // too many of them: the attempt is void
	loosened     int  // how often more became valid
	refused      bool // an API refuses the original
}

// place is where in the result the walk is.
type place struct {
	path  string
	depth int
	base  json.RawMessage
	refs  []*byte // the definitions that are being written out
}

func (p place) at(step string) place {
	p.path += "/" + step
	p.depth++
	return p
}

// tidy notes a change that no API insists on, or that only few do.
func (w *walker) tidy(p place, text string) {
	path := p.path
	if path == "" {
		path = "root"
	}
	w.changes.add(clip(path, 100), text)
}

// note notes a change of what an API refuses.
func (w *walker) note(p place, text string) {
	w.refused = true
	w.tidy(p, text)
}

// lose notes such a change that makes more valid.
func (w *walker) lose(p place, text string) {
	w.loosened++
	w.note(p, text)
}

func (w *walker) repair() *node {
	p := place{base: w.source.root, refs: []*byte{&w.source.root[0]}}
	return w.root(w.schema(w.source.root, p), p)
}

func (w *walker) schema(b json.RawMessage, p place) *node {
	if len(p.refs) > 1 {
		w.nodes++
		if w.over = w.over || w.nodes > maxNodes || w.bytes > MaxBytes/2; w.over {
			return &node{}
		}
	}
	switch b[0] {
	case '{':
		p.base = w.source.own(b, p.base)
		if mcp.Member(b, "$ref") != nil {
			return w.reference(b, p)
		}
		return w.object(b, p, false)
	case 't':
		w.note(p, "true is written as {}")
		return &node{}
	case 'f':
		w.note(p, `false is written as {"not":{}}`)
		return nothing()
	}
	w.lose(p, "what is no schema accepts anything")
	return &node{}
}

// object writes the keywords of a schema but `$ref`; of an annotated reference in old drafts only the annotations.
func (w *walker) object(b json.RawMessage, p place, onlyAnnotations bool) *node {
	o := &object{walker: w, node: &node{}, src: b, place: p}
	for key, value := range mcp.Members(b) {
		name := mcp.Text(key)
		if onlyAnnotations && !annotates(name) {
			continue
		}
		if len(p.refs) > 1 {
			w.bytes += weight(keywords[name], key, value)
		}
		o.keyword(name, value)
	}
	o.finish()
	return o.node
}

// weight is about what a keyword adds without the schemas in it.
func weight(k kind, key, value []byte) int {
	n := len(key)
	switch k {
	case kindSchema, kindItems, kindSchemas, kindMeta, kindDefs, kindLost, kindLinked:
	case kindMap:
		for name := range mcp.Members(value) {
			n += len(name) + 3
		}
	default:
		n += len(value)
	}
	return n
}

// object is one schema that is being written.
type object struct {
	*walker
	node  *node
	src   json.RawMessage
	place place
	also  []*node  // for allOf
	void  []string // keywords to take out again

	unknown int // keywords that were kept though they aren't JSON Schema's
}

// maxUnknown bounds them: a node is slow to find one among many.
const maxUnknown = 100

func (o *object) keyword(key string, value json.RawMessage) {
	k := keywords[key]
	switch k {
	case kindLinked:
	case kindMeta, kindDefs:
		o.tidy(o.place, key+" is left out")
	case kindLost:
		o.loosened++
		o.tidy(o.place, key+" is left out")
	case kindNumber:
		o.bound(key, value)
	case kindType:
		o.types(value)
	case kindPattern:
		o.pattern(value)
	case kindNames, kindNameMap:
		o.nameLists(key, k, value)
	case kindSchema, kindItems:
		o.one(key, value)
	case kindSchemas:
		o.several(key, value)
	case kindMap:
		o.named(key, value)
	case kindDependencies:
		o.dependencies(value)
	default:
		o.data(key, k, value)
	}
}

// data copies a value as it is written, or leaves it out.
func (o *object) data(key string, k kind, value json.RawMessage) {
	switch {
	case key == "id" && value[0] == '"':
		o.tidy(o.place, "id is left out")
	case k == kindUnknown && o.unknown == maxUnknown:
		o.tidy(o.place, "a keyword that isn't JSON Schema's is left out")
	case wellFormed(key, k, value):
		if k == kindUnknown {
			o.unknown++
		}
		o.node.set(member{key: key, raw: value})
	case k == kindUnknown:
		o.tidy(o.place, "a keyword that isn't JSON Schema's is left out")
	case annotates(key):
		o.note(o.place, key+" has a value that it can't have, and is left out")
	default:
		o.lose(o.place, key+" has a value that it can't have, and is left out")
	}
}

// bound writes draft 4's exclusiveMinimum, true beside a minimum, as the number that it is since.
func (o *object) bound(key string, value json.RawMessage) {
	exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	switch {
	case exclusive != "" && string(mcp.Member(o.src, exclusive)) == "true":
		o.data(exclusive, kindNumber, value)
	case value[0] == 't' || value[0] == 'f':
		o.note(o.place, "a boolean "+key+" is left out")
	default:
		o.data(key, kindNumber, value)
	}
}

func (o *object) types(value json.RawMessage) {
	list, ok := typeNames(value)
	switch {
	case !ok:
		o.lose(o.place, "an unknown type is left out")
	case value[0] == '[' && count(value) != len(list):
		o.note(o.place, "a type that is there twice is left out")
		o.node.set(member{key: "type", raw: quoteAll(list)})
	default:
		o.node.set(member{key: "type", raw: value})
	}
}

func count(array []byte) (n int) {
	for range mcp.Elements(array) {
		n++
	}
	return n
}

func (o *object) pattern(value json.RawMessage) {
	text := mcp.Text(value)
	switch {
	case value[0] == '"' && portable(text):
		o.data("pattern", kindData, value)
	case value[0] == '"' && len(text) <= 200 && text != "":
		o.node.tell = append(o.node.tell, "Pattern: "+text)
		fallthrough
	default:
		o.lose(o.place, "a pattern that not every engine compiles is left out")
	}
}
