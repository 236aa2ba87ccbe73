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
	var before *hujson.Value
	if i > 0 {
		before = &members[i-1].Value
	}
	return b.cutItem(f.key, f.value, before, i == len(members)-1)
}

// cutElement takes the i-th element out of an array.
func (b *box) cutElement(i int) []change {
	all := b.value.Value.(*hujson.Array).Elements
	var before *hujson.Value
	if i > 0 {
		before = &all[i-1]
	}
	return b.cutItem(all[i].StartOffset, all[i], before, i == len(all)-1)
}

func (b *box) cutItem(start int, value hujson.Value, before *hujson.Value, last bool) []change {
	end := value.EndOffset
	if after := value.AfterExtra; !last || after != nil {
		end += len(after) + 1 // its comma
	} else if before != nil {
		return b.cutLast(*before, start, end)
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

// cutElements takes several elements, in ascending order, out of an array. Where the last ones go and no comma is behind
// them, the one before them loses its own.
func (b *box) cutElements(which []int) []change {
	all := b.value.Value.(*hujson.Array).Elements
	var out []change
	tail := len(which)
	for tail > 0 && which[tail-1] == len(all)-1-(len(which)-tail) {
		tail--
	}
	for _, i := range which[:tail] {
		out = append(out, b.cutElement(i)...)
	}
	if tail == len(which) {
		return out
	}
	first, last := which[tail], all[len(all)-1]
	switch {
	case last.AfterExtra != nil:
		for _, i := range which[tail:] {
			out = append(out, b.cutElement(i)...)
		}
		return out
	case first == 0:
		return b.doc.remove(all[0].StartOffset, last.EndOffset)
	}
	return append(out, b.cutLast(all[first-1], all[first].StartOffset, last.EndOffset)...)
}
