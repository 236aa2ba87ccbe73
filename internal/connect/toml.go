package connect

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlFile is TOML. It is changed by whole lines; what has an entry inside an inline table further out is refused.
type tomlFile struct{}

var _ format = tomlFile{}

func (tomlFile) decode(data []byte) (map[string]any, error) {
	all := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(data, utf8BOM), &all)
	return all, err
}

func (f tomlFile) entries(file string, data []byte, root []string) ([]Entry, error) {
	all, err := f.decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read as TOML: %w", file, err)
	}
	parts := tomlParts(data)
	var found []Entry
	servers := at(all, root)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		fields, _ := servers[name].(map[string]any)
		found = append(found, newEntry(name, textOf(data, parts, append(root[:len(root):len(root)], name)), fields))
	}
	slices.SortStableFunc(found, func(a, b Entry) int {
		return first(parts, append(root[:len(root):len(root)], a.Name)) - first(parts, append(root[:len(root):len(root)], b.Name))
	})
	return found, nil
}

func (f tomlFile) edit(_ string, data []byte, root []string, edits []edit) ([]byte, error) {
	for _, e := range edits {
		t := &tomlEdit{data: data, root: root, path: append(root[:len(root):len(root)], e.name), nl: newline(data)}
		t.parts = tomlParts(data)
		t.mine = within(t.parts, t.path)
		switch {
		case e.cuts():
			data = t.cut()
		case e.fields == nil:
			data = t.put(e.text)
		case len(t.mine) > 0 && !e.whole && t.parts[t.mine[0]].header:
			data = t.set(e.fields)
		case len(t.mine) > 0 && !t.parts[t.mine[0]].header:
			data = t.put(tomlKey(e.name) + " = " + tomlInline(e.fields) + t.nl)
		default:
			data = t.put(t.table(e.fields))
		}
	}
	return data, nil
}

// tomlEdit is one edit of one entry.
type tomlEdit struct {
	data       []byte
	root, path []string
	nl         string
	parts      []part
	mine       []int // the parts that the entry is made of
}

// table is an entry as lines.
func (t *tomlEdit) table(fields []field) string {
	var names []string
	for _, name := range t.path {
		names = append(names, tomlKey(name))
	}
	text := "[" + strings.Join(names, ".") + "]" + t.nl
	for _, f := range fields {
		text += t.line(f)
	}
	return text
}

func (t *tomlEdit) line(f field) string { return tomlKey(f.name) + " = " + tomlValue(f.value) + t.nl }

// put writes text in place of the entry, or behind the others.
func (t *tomlEdit) put(text string) []byte {
	text = strings.TrimRight(text, "\r\n") + t.nl
	if len(t.mine) > 0 {
		return t.splice(t.mine, text)
	}
	at, gap := len(t.data), t.nl
	if others := within(t.parts, t.root); len(others) > 0 {
		last := others[len(others)-1]
		at = t.parts[last].sectionEnd(t.parts, last)
	}
	before := t.data[:at]
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(before, utf8BOM))) == 0, bytes.HasSuffix(before, []byte(t.nl+t.nl)):
		gap = ""
	case !bytes.HasSuffix(before, []byte("\n")):
		gap = t.nl + t.nl
	}
	return slices.Concat(before, []byte(gap+text), t.data[at:])
}

// set changes lines of the entry, which is a table.
func (t *tomlEdit) set(fields []field) []byte {
	data := t.data
	for _, f := range slices.Backward(fields) {
		now := &tomlEdit{data: data, path: t.path, nl: t.nl, parts: tomlParts(data)}
		header := within(now.parts, t.path)[0]
		if old := within(now.parts, append(t.path[:len(t.path):len(t.path)], f.name)); len(old) > 0 {
			if !now.parts[old[0]].header {
				data = now.splice(old, t.line(f))
			}
			continue
		}
		end := now.parts[header].end
		data = slices.Concat(data[:end], []byte(t.line(f)), data[end:])
	}
	return data
}

// cut takes the entry out, with the empty line before it, or behind it at the start of the file.
func (t *tomlEdit) cut() []byte {
	if len(t.mine) == 0 {
		return t.data
	}
	gap := []byte(t.nl)
	p := &t.parts[t.mine[0]]
	if before := t.data[:p.start]; p.header && bytes.HasSuffix(before, append(bytes.Clone(gap), gap...)) {
		p.start -= len(gap)
	} else if p.header && p.start == 0 && bytes.HasPrefix(t.data[p.end:], gap) {
		p.end += len(gap)
	}
	return t.splice(t.mine, "")
}

// splice puts text in place of the first of the parts and takes the others out, with what is between two that follow one
// another: that is the entry's too.
func (t *tomlEdit) splice(which []int, text string) []byte {
	var out []byte
	done := 0
	for i, n := range which {
		p := t.parts[n]
		if i == 0 || which[i-1] != n-1 {
			out = append(out, t.data[done:p.start]...)
		}
		if i == 0 {
			out = append(out, text...)
		}
		done = p.end
	}
	return append(out, t.data[done:]...)
}
