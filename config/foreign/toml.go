package foreign

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML with the places of its values, for which the library has its unstable package only. What TOML
// forbids twice is let through: the first one counts.
func parseTOML(text []byte) (*node, error) {
	t := &tomlReader{lines: lineStarts(text), root: &node{kind: isObject, line: 1}}
	if at := tooDeep(text, tomlSyntax); at >= 0 {
		return nil, &broken{line: lineAt(t.lines, at), why: "nested more than 128 deep"}
	}
	t.parser.Reset(text)
	t.table = t.root
	for t.parser.NextExpression() {
		t.expression(t.parser.Expression())
	}
	if err := t.parser.Error(); err != nil {
		b := &broken{line: 1, why: "this is not TOML; correct it there"}
		if e, ok := errors.AsType[*unstable.ParserError](err); ok && len(e.Highlight) > 0 {
			b.line = lineAt(t.lines, int(t.parser.Range(e.Highlight).Offset))
		}
		return nil, b
	}
	return t.root, nil
}

type tomlReader struct {
	parser      unstable.Parser
	lines       []int
	root, table *node // table is nil where it lies too deep
}

func (t *tomlReader) line(n *unstable.Node) int { return lineAt(t.lines, int(n.Raw.Offset)) }

func (t *tomlReader) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table, unstable.ArrayTable:
		t.table = t.root
		depth := 0
		for k := e.Key(); k.Next() && t.table != nil; depth++ {
			if depth > maxDepth {
				t.table = nil
				return
			}
			t.table = t.open(t.table, k.Node(), e.Kind == unstable.ArrayTable && k.IsLast())
		}
	case unstable.KeyValue:
		t.assign(t.table, e)
	}
}

// open returns the table of a name, which it makes where there is none. The one of a list is its last, or a new one.
func (t *tomlReader) open(in *node, key *unstable.Node, element bool) *node {
	name, line := string(key.Data), t.line(key)
	n := in.get(name)
	if n == nil {
		n = &node{kind: isObject, line: line}
		if element {
			n = &node{kind: isList, line: line}
		}
		in.members = append(in.members, member{name, line, n})
	}
	switch {
	case n.kind == isList && element:
		n.items = append(n.items, &node{kind: isObject, line: line})
		return n.items[len(n.items)-1]
	case n.kind == isList && len(n.items) > 0:
		n = n.items[len(n.items)-1]
	}
	if n.kind != isObject || element {
		return nil
	}
	return n
}

func (t *tomlReader) assign(in *node, e *unstable.Node) {
	depth := 0
	for k := e.Key(); k.Next() && in != nil; depth++ {
		key := k.Node()
		switch {
		case depth > maxDepth:
			return
		case !k.IsLast():
			in = t.open(in, key, false)
		default:
			in.members = append(in.members, member{string(key.Data), t.line(key), t.value(e.Value(), t.line(key))})
		}
	}
}

// value takes the line of its name where the library tells no other.
func (t *tomlReader) value(v *unstable.Node, line int) *node {
	n := &node{line: line}
	if v.Raw.Length > 0 {
		n.line = t.line(v)
	}
	switch v.Kind {
	case unstable.Array:
		n.kind = isList
		for c := v.Children(); c.Next(); {
			n.items = append(n.items, t.value(c.Node(), n.line))
		}
	case unstable.InlineTable:
		n.kind = isObject
		for c := v.Children(); c.Next(); {
			t.assign(n, c.Node())
		}
	case unstable.Bool:
		n.kind, n.text = isBool, string(v.Data)
	case unstable.Integer, unstable.Float:
		n.kind, n.text = isNumber, strings.ReplaceAll(string(bytes.TrimPrefix(v.Data, []byte("+"))), "_", "")
	default:
		n.kind, n.text = isText, string(v.Data)
	}
	return n
}
