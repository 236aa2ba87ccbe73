package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// hujson's Patch knows no layout, and Format would rewrite the whole file. So an
// edit is a few insertions at the offsets that hujson reports.

// change replaces the bytes from start to end.
type change struct {
	start, end int
	text       string
}

// node is a value to write: a literal, or an object or array of items. A spread
// one has each item on its own line, if what it is put into has.
type node struct {
	kind   hujson.Kind // '{', '[', or 0 for a literal
	text   string
	spread bool
	items  []item
}

type item struct {
	name  string // in an object
	value node
}

func literal(s string) node { return node{text: string(hujson.String(s))} }

// box is an object or array of the file that something is put into.
type box struct {
	doc    *document
	path   string
	value  hujson.Value
	extra  hujson.Extra // before the closing bracket
	count  int
	last   *hujson.Value // nil if it is empty
	before hujson.Extra  // before the last item
	start  int           // of the last item
	colon  string
	spread bool
}

func (d *document) rootBox() *box {
	b := newBox(d, field{value: d.root})
	b.spread = b.spread || b.count == 0
	return b
}

// inner returns the box of a member of b. An empty one is spread as b is.
func (b *box) inner(f field) *box {
	in := newBox(b.doc, f)
	if in.count == 0 && in.value.Value.Kind() == '{' {
		in.spread = in.spread || b.spread
	}
	return in
}

func newBox(d *document, f field) *box {
	b := &box{doc: d, path: f.path, value: f.value, colon: ": "}
	if d.compact() {
		b.colon = ":"
	}
	switch c := f.value.Value.(type) {
	case *hujson.Object:
		b.extra, b.count = c.AfterExtra, len(c.Members)
		if b.count > 0 {
			m := &c.Members[b.count-1]
			b.last, b.before, b.start = &m.Value, m.Name.BeforeExtra, m.Name.StartOffset
			b.copyColon(m)
		}
	case *hujson.Array:
		b.extra, b.count = c.AfterExtra, len(c.Elements)
		if b.count > 0 {
			b.last = &c.Elements[b.count-1]
			b.before, b.start = b.last.BeforeExtra, b.last.StartOffset
		}
	}
	b.spread = bytes.ContainsRune(b.before, '\n') || b.count == 0 && bytes.ContainsRune(b.extra, '\n')
	return b
}

func (b *box) copyColon(m *hujson.ObjectMember) {
	left, right := string(m.Name.AfterExtra), string(m.Value.BeforeExtra)
	if strings.Trim(left+right, " ") == "" && len(left) < 2 && len(right) < 2 {
		b.colon = left + ":" + right
	}
}

func (b *box) find(name string) (field, bool) {
	object, _ := b.value.Value.(*hujson.Object)
	fields := fieldsOf(object, b.path)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

// spreadsLists says whether a list in b has its elements on lines of their own.
func (b *box) spreadsLists() bool {
	object, _ := b.value.Value.(*hujson.Object)
	return slices.ContainsFunc(fieldsOf(object, b.path), func(f field) bool {
		return f.value.Value.Kind() == '[' && newBox(b.doc, f).spread
	})
}

// insert puts it behind the last item.
func (b *box) insert(it item) []change {
	var out []change
	var comma string
	switch {
	case b.last == nil:
	case b.last.AfterExtra != nil: // a trailing comma is there, so we write one
		comma = ","
	default:
		out = append(out, change{b.last.EndOffset, b.last.EndOffset, ","})
	}
	at, text := b.placeOne(it, comma)
	if b.spread {
		at, text = b.placeLine(it, comma)
	}
	return append(out, change{at, at, text})
}

// placeLine puts an item on its own line.
func (b *box) placeLine(it item, comma string) (int, string) {
	nl := b.doc.newline()
	text := b.indent() + b.renderItem(it, b.indent(), true) + comma
	closing := b.value.EndOffset - 1
	space := trailingSpace(b.extra)
	switch {
	case len(space) < len(b.extra) && bytes.ContainsRune(space, '\n'):
		// Behind the comments, where the line of the closing bracket starts.
		return closing - len(space) + bytes.LastIndexByte(space, '\n') + 1, text + nl
	case b.last == nil && !bytes.ContainsRune(space, '\n'):
		return closing - len(space), nl + text + nl + b.doc.indentAt(b.value.StartOffset)
	}
	return closing - len(space), nl + text
}

// placeOne puts an item on the line of the others.
func (b *box) placeOne(it item, comma string) (int, string) {
	text := b.renderItem(it, "", false) + comma
	closing := b.value.EndOffset - 1
	space := trailingSpace(b.extra)
	if len(space) < len(b.extra) && bytes.ContainsRune(space, '\n') { // a line comment, maybe
		at := closing - len(space) + bytes.LastIndexByte(space, '\n') + 1
		return at, b.doc.indentAt(b.value.StartOffset) + b.doc.unit() + text + b.doc.newline()
	}
	return closing - len(space), b.separator() + text
}

// separator is what stands before an item on the line of the others.
func (b *box) separator() string {
	switch {
	case b.count > 1 && len(trailingSpace(b.before)) == len(b.before):
		return string(b.before)
	case b.count == 0 && len(b.extra) == 0, b.doc.compact():
		return ""
	}
	return " "
}

func (b *box) indent() string {
	if b.last != nil {
		return b.doc.indentAt(b.start)
	}
	return b.doc.indentAt(b.value.StartOffset) + b.doc.unit()
}

func trailingSpace(e hujson.Extra) []byte {
	return e[len(bytes.TrimRight(e, " \t\r\n")):]
}
