package foreign

import (
	"bytes"
	"fmt"
	"sort"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON with comments and trailing commas. A text without a value is an empty object.
func parseJSON(text []byte) (*node, error) {
	lines := lineStarts(text)
	if at := tooDeep(text, jsonSyntax); at >= 0 {
		return nil, &broken{line: lineAt(lines, at), why: "nested more than 128 deep"}
	}
	text = append(text, '\n') // a comment may be the last line
	if hujson.Extra(text).IsValid() {
		return &node{kind: isObject, line: 1}, nil
	}
	v, err := hujson.Parse(text)
	if err != nil {
		b := &broken{line: 1, why: "this is not JSON; correct it there"}
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d,", &b.line)
		b.line = min(b.line, len(lines))
		return nil, b
	}
	return jsonNode(v, lines), nil
}

func jsonNode(v hujson.Value, lines []int) *node {
	n := &node{line: lineAt(lines, v.StartOffset)}
	switch c := v.Value.(type) {
	case *hujson.Object:
		n.kind = isObject
		for _, m := range c.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			n.members = append(n.members, member{name.String(), lineAt(lines, m.Name.StartOffset), jsonNode(m.Value, lines)})
		}
	case *hujson.Array:
		n.kind = isList
		for _, e := range c.Elements {
			n.items = append(n.items, jsonNode(e, lines))
		}
	case hujson.Literal:
		switch c.Kind() {
		case '"':
			n.kind, n.text = isText, c.String()
		case '0':
			n.kind, n.text = isNumber, string(c)
		case 't', 'f':
			n.kind, n.text = isBool, string(c)
		}
	}
	return n
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func lineAt(lines []int, offset int) int { return sort.SearchInts(lines, offset+1) }

// syntax is how strings and comments begin and end, where brackets don't count.
type syntax struct {
	strings  []string // longest first; each ends as it begins
	verbatim []string // those of them that have no escapes
	comments [][2]string
}

var (
	jsonSyntax = syntax{strings: []string{`"`}, comments: [][2]string{{"//", "\n"}, {"/*", "*/"}}}
	tomlSyntax = syntax{strings: []string{`"""`, `'''`, `"`, `'`}, verbatim: []string{`'''`, `'`}, comments: [][2]string{{"#", "\n"}}}
)

// tooDeep returns the offset of the bracket that opens one level too many, or -1: parsers recurse.
func tooDeep(text []byte, s syntax) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth = max(depth-1, 0)
		default:
			i = s.skip(text, i)
		}
	}
	return -1
}

// skip returns the last byte of the string or comment that begins at i, or i.
func (s syntax) skip(text []byte, i int) int {
	for _, c := range s.comments {
		if bytes.HasPrefix(text[i:], []byte(c[0])) {
			return end(text, i+len(c[0]), c[1], false)
		}
	}
	for _, q := range s.strings {
		if bytes.HasPrefix(text[i:], []byte(q)) {
			escapes := true
			for _, v := range s.verbatim {
				escapes = escapes && v != q
			}
			return end(text, i+len(q), q, escapes)
		}
	}
	return i
}

func end(text []byte, i int, mark string, escapes bool) int {
	for ; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == mark[0] && bytes.HasPrefix(text[i:], []byte(mark)):
			return i + len(mark) - 1
		case text[i] == '\n' && len(mark) == 1: // a string of one line isn't closed; the parser stops here
			return i
		}
	}
	return len(text)
}
