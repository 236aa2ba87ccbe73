package config

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

func (b *box) renderItem(it item, indent string, spread bool) string {
	value := b.render(it.value, indent, spread)
	if it.name == "" {
		return value
	}
	return literal(it.name).text + b.colon + value
}

// render writes n, whose first line is indented by indent.
func (b *box) render(n node, indent string, spread bool) string {
	if n.kind == 0 {
		return n.text
	}
	spread = spread && n.spread
	deeper := indent + b.doc.unit()
	var items []string
	for _, it := range n.items {
		items = append(items, b.renderItem(it, deeper, spread))
	}
	open, end := string(rune(n.kind)), string(rune(n.kind+2)) // { } and [ ] are two apart
	if !spread {
		separator := ", "
		if b.doc.compact() {
			separator = ","
		}
		return open + strings.Join(items, separator) + end
	}
	nl := b.doc.newline()
	return open + nl + deeper + strings.Join(items, ","+nl+deeper) + nl + indent + end
}

// fill writes the content of a file that has none.
func (d *document) fill(root node) []change {
	b := &box{doc: d, colon: ": "}
	nl := d.newline()
	text := b.render(root, "", true) + nl
	if len(d.data) > 0 && !bytes.HasSuffix(d.data, []byte("\n")) {
		text = nl + text
	}
	return []change{{len(d.data), len(d.data), text}}
}

// apply returns the whole file with the changes made. At one place they keep
// their order.
func (d *document) apply(changes []change) []byte {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	if d.bom {
		out = append(out, utf8BOM...)
	}
	done := 0
	for _, c := range changes {
		out = append(out, d.data[done:c.start]...)
		out = append(out, c.text...)
		done = c.end
	}
	return append(out, d.data[done:]...)
}

// newline is what the first line of the file ends in.
func (d *document) newline() string {
	if i := bytes.IndexByte(d.data, '\n'); i > 0 && d.data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit is one step of indentation: that of the root's first member.
func (d *document) unit() string {
	if len(d.object.Members) > 0 {
		m := d.object.Members[0]
		root := d.indentAt(d.root.StartOffset)
		own, deeper := strings.CutPrefix(d.indentAt(m.Name.StartOffset), root)
		if bytes.ContainsRune(m.Name.BeforeExtra, '\n') && deeper && own != "" {
			return own
		}
	}
	return "  "
}

// indentAt is the white space that the line of an offset starts with.
func (d *document) indentAt(offset int) string {
	start := 1 + bytes.LastIndexByte(d.data[:offset], '\n')
	line := d.data[start:offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// compact says that the file is on one line without spaces.
func (d *document) compact() bool {
	if d.blank || len(d.object.Members) == 0 {
		return false
	}
	m := d.object.Members[0]
	return len(m.Name.BeforeExtra) == 0 && len(m.Value.BeforeExtra) == 0 &&
		!bytes.ContainsRune(d.data[d.root.StartOffset:d.root.EndOffset], '\n')
}
