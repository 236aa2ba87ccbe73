package repair

import (
	"encoding/json"
	"slices"

	"github.com/usher-mcp/usher/mcp"
)

// reference writes a schema with a `$ref`: what it names, with the annotations that stand beside it.
func (w *walker) reference(b json.RawMessage, p place) *node {
	beside := w.object(b, p, w.source.old)
	raw := mcp.Member(b, "$ref")
	t, ok := w.source.resolve(mcp.Text(raw), p.base)
	if !ok || raw[0] != '"' {
		w.lose(p, "a $ref to what isn't in the schema accepts anything")
		return beside
	}
	w.tidy(p, "a $ref is written out")
	sub := w.written(t, p)
	for _, m := range beside.members {
		if !annotates(m.key) {
			all := []*node{sub}
			if old := beside.get("allOf"); old != nil {
				all = append(slices.Clone(old.list), sub)
			}
			beside.set(member{key: "allOf", list: all})
			return beside
		}
	}
	for _, m := range beside.members {
		sub.set(m)
	}
	return sub
}

// written writes what a reference names, or cuts it.
func (w *walker) written(t target, p place) *node {
	id := &t.schema[0]
	times := 0
	for _, r := range p.refs {
		if r == id {
			times++
		}
	}
	switch {
	case times > w.limit.again:
		w.lose(p, "a definition inside itself is cut")
		return w.cut(t.schema, "As described further up")
	case len(p.refs) > w.limit.refs || p.depth > maxDepth:
		w.lose(p, "a definition is cut, since the whole would be too large")
		return w.cut(t.schema, "")
	}
	p.refs = append(slices.Clip(p.refs), id)
	p.base = t.base
	p.depth++
	return w.schema(t.schema, p)
}

// cut keeps the type and the description; text stands for a description that is missing.
func (w *walker) cut(b json.RawMessage, text string) *node {
	n := &node{}
	if !w.source.mayLook(b) || b[0] != '{' || w.source.old && mcp.Member(b, "$ref") != nil {
		return n
	}
	if raw := mcp.Member(b, "type"); raw != nil {
		if _, ok := typeNames(raw); ok && raw[0] == '"' {
			n.set(member{key: "type", raw: raw})
		}
	}
	if own := mcp.Text(mcp.Member(b, "description")); own != "" {
		text = own
	}
	if text != "" {
		n.set(member{key: "description", raw: mcp.Quote(clip(text, 300))})
	}
	w.complete(n, place{})
	return n
}
