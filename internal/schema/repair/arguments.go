package repair

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/mcp"
)

// Arguments puts the original names back into arguments that a model wrote for Schema. Only members that Schema declares
// at their place are renamed: a name inside free-form data stays. All other bytes stay as they are, and arguments
// without such a member come back as the same bytes. It fails if both the new and the original name are given. The
// arguments must have passed mcp.Validate.
func (r *Repaired) Arguments(args json.RawMessage) (json.RawMessage, error) {
	return r.translate(args, r.original, true)
}

// Renamed reports whether Arguments has anything to do.
func (r *Repaired) Renamed() bool { return len(r.original) > 0 }

// translate renames by place: back from the names of Schema, or forth to them.
func (r *Repaired) translate(args json.RawMessage, to map[string]string, back bool) (json.RawMessage, error) {
	if len(to) == 0 || len(args) == 0 {
		return args, nil
	}
	t := &translator{to: to, back: back, known: map[*node]*applied{}}
	start := next(args, 0)
	out := append(json.RawMessage(nil), args[:start]...)
	out = t.value(out, args[start:], []*node{r.root})
	if t.err != nil {
		return nil, t.err
	}
	if t.renamed == 0 {
		return args, nil
	}
	return out, nil
}

// maxSteps bounds a translation to some tenths of a second.
const maxSteps = 1_000_000

var errSteps = errors.New("the arguments are too large to be translated to the tool's own names")

// translator walks a value along all schemas that speak of it.
type translator struct {
	to      map[string]string
	back    bool
	known   map[*node]*applied
	renamed int
	steps   int
	err     error
}

// applied is what a schema says of the parts of a value.
type applied struct {
	here     []*node // itself, and what else speaks of the same value
	props    map[string]*node
	declares map[string]bool
}

func (t *translator) of(n *node) *applied {
	if a := t.known[n]; a != nil {
		return a
	}
	a := &applied{here: []*node{n}, props: map[string]*node{}, declares: map[string]bool{}}
	t.known[n] = a
	for _, m := range n.members {
		switch m.key {
		case "properties":
			for _, p := range m.named {
				a.props[p.name], a.declares[p.name] = p.node, true
			}
		case "dependentRequired":
			for key, list := range mcp.Members(m.raw) {
				a.declares[mcp.Text(key)] = true
				for e := range mcp.Elements(list) {
					a.declares[mcp.Text(e)] = true
				}
			}
		case "dependentSchemas":
			for _, p := range m.named {
				a.declares[p.name] = true
				a.here = append(a.here, t.of(p.node).here...)
			}
		case "not", "if", "then", "else":
			a.here = append(a.here, t.of(m.sub).here...)
		case "allOf", "anyOf":
			for _, sub := range m.list {
				a.here = append(a.here, t.of(sub).here...)
			}
		}
	}
	return a
}

// value appends b, translated, to out. B begins with the value; what follows it is copied too.
func (t *translator) value(out, b []byte, schemas []*node) []byte {
	var all []*node
	for _, n := range schemas {
		all = append(all, t.of(n).here...)
	}
	switch {
	case len(all) == 0 || t.err != nil:
	case b[0] == '{':
		return t.object(out, b, all)
	case b[0] == '[':
		return t.array(out, b, all)
	}
	return append(out, b...)
}

func (t *translator) object(out, b []byte, schemas []*node) []byte {
	pos := 0
	given := map[string]bool{}
	for rawKey, value := range mcp.Members(b) {
		at := next(b, max(pos, 1))
		from := next(b, at+len(rawKey))
		key := mcp.Text(rawKey)
		name := t.name(key, schemas)
		if t.fails(len(schemas), given, name) {
			return out
		}
		out = append(out, b[pos:at]...)
		inSchema := key
		if name != key {
			t.renamed++
			out = append(out, mcp.Quote(name)...)
			if !t.back {
				inSchema = name
			}
		} else {
			out = append(out, rawKey...)
		}
		out = append(out, b[at+len(rawKey):from]...)
		out = t.value(out, value, t.members(inSchema, schemas))
		pos = from + len(value)
	}
	return append(out, b[pos:]...)
}

func (t *translator) fails(steps int, given map[string]bool, name string) bool {
	if t.steps += steps; t.steps > maxSteps && t.err == nil {
		t.err = errSteps
	}
	if given[name] && t.err == nil {
		t.err = fmt.Errorf("%s is given under two names; leave one out", quoted(name))
	}
	given[name] = true
	return t.err != nil
}

// name translates a member's name if a schema declares it.
func (t *translator) name(key string, schemas []*node) string {
	name, ok := t.to[key]
	if !ok {
		return key
	}
	inSchema := key
	if !t.back {
		inSchema = name
	}
	for _, n := range schemas {
		if t.of(n).declares[inSchema] {
			return name
		}
	}
	return key
}

// members returns the schemas that speak of a member.
func (t *translator) members(name string, schemas []*node) []*node {
	var out []*node
	for _, n := range schemas {
		if p := t.of(n).props[name]; p != nil {
			out = append(out, p)
		} else if m := n.get("additionalProperties"); m != nil && m.sub != nil {
			out = append(out, m.sub)
		}
	}
	return out
}

func (t *translator) array(out, b []byte, schemas []*node) []byte {
	pos, i := 0, 0
	for e := range mcp.Elements(b) {
		if t.steps += len(schemas); t.steps > maxSteps && t.err == nil {
			t.err = errSteps
			return out
		}
		at := next(b, max(pos, 1))
		out = append(out, b[pos:at]...)
		out = t.value(out, e, items(i, schemas))
		pos = at + len(e)
		i++
	}
	return append(out, b[pos:]...)
}

// items returns the schemas that speak of an item.
func items(i int, schemas []*node) []*node {
	var out []*node
	for _, n := range schemas {
		tuple := n.get("prefixItems")
		if tuple != nil && i < len(tuple.list) {
			out = append(out, tuple.list[i])
		} else if m := n.get("items"); m != nil {
			out = append(out, m.sub)
		}
		if m := n.get("contains"); m != nil {
			out = append(out, m.sub)
		}
	}
	return out
}

// next skips what may stand between two tokens.
func next(b []byte, i int) int {
	for i < len(b) && strings.IndexByte(" \t\r\n,:", b[i]) >= 0 {
		i++
	}
	return i
}
