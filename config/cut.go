package config

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// cut takes a member out of an object.
func (b *box) cut(f field) []change {
	members := b.value.Value.(*hujson.Object).Members
	i := slices.IndexFunc(members, func(m hujson.ObjectMember) bool { return m.Name.StartOffset == f.key })
	start, end := f.key, f.value.EndOffset
	if after := f.value.AfterExtra; i < len(members)-1 || after != nil {
		end += len(after) + 1 // its comma
	} else if i > 0 {
		return b.cutLast(members[i-1].Value, start, end)
	}
	return b.doc.remove(start, end)
}

// cutLast takes the last member out, and the comma before it, since the file has none behind a last one.
func (b *box) cutLast(before hujson.Value, start, end int) []change {
	comma := before.EndOffset + len(before.AfterExtra)
	if between := b.doc.data[comma+1 : start]; len(bytes.TrimSpace(between)) == 0 && !bytes.ContainsRune(between, '\n') {
		return []change{{comma, end, ""}}
	}
	return append([]change{{comma, comma + 1, ""}}, b.doc.remove(start, end)...)
}

// remove takes out whole lines where it can: those that hold nothing else, but for a comment behind the end.
func (d *document) remove(start, end int) []change {
	line := 1 + bytes.LastIndexByte(d.data[:start], '\n')
	first := len(bytes.TrimSpace(d.data[line:start])) == 0
	if rest, ok := d.restOfLine(end); ok && first {
		return []change{{line, rest, ""}}
	}
	for end < len(d.data) && (d.data[end] == ' ' || d.data[end] == '\t') {
		end++
	}
	return []change{{start, end, ""}}
}

// restOfLine returns where the next line begins, if there is nothing but white space and comments before it. A comment of
// several lines is none of this line alone.
func (d *document) restOfLine(at int) (next int, ok bool) {
	for at < len(d.data) {
		switch d.data[at] {
		case ' ', '\t', '\r':
			at++
		case '\n':
			return at + 1, true
		case '/':
			end := commentEnd(d.data, at) + 1
			comment := d.data[at:min(end, len(d.data))]
			if bytes.HasPrefix(comment, []byte("//")) {
				return min(end, len(d.data)), true
			}
			if bytes.ContainsRune(comment, '\n') {
				return 0, false
			}
			at = end
		default:
			return 0, false
		}
	}
	return at, true
}
