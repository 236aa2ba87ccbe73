package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFile is YAML whose entries are a block mapping at the top. It is changed by whole lines.
type yamlFile struct{}

var _ format = yamlFile{}

func (yamlFile) decode(data []byte) (map[string]any, error) {
	all := map[string]any{}
	d := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, utf8BOM)))
	if err := d.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several documents")
	}
	return all, nil
}

func (f yamlFile) entries(file string, data []byte, root []string) ([]Entry, error) {
	all, err := f.decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read as YAML: %w", file, err)
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	block, err := findBlock(data, root[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	servers := at(all, root)
	var found []Entry
	for _, s := range block.spans {
		fields, _ := servers[s.name].(map[string]any)
		found = append(found, newEntry(s.name, string(data[s.start:s.end]), fields))
	}
	return found, nil
}

func (f yamlFile) edit(file string, data []byte, root []string, edits []edit) ([]byte, error) {
	text, marked := bytes.CutPrefix(data, utf8BOM)
	out, err := f.editText(file, text, root, edits)
	if marked {
		out = append(bytes.Clone(utf8BOM), out...)
	}
	return out, err
}

func (yamlFile) editText(file string, data []byte, root []string, edits []edit) ([]byte, error) {
	for _, e := range edits {
		b, err := findBlock(data, root[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		i := slices.IndexFunc(b.spans, func(s span) bool { return s.name == e.name })
		switch {
		case e.cuts() && i < 0:
		case e.cuts():
			data = b.replace(b.spans[i], "")
		case e.fields == nil && i < 0:
			data = b.add(e.text)
		case e.fields == nil:
			data = b.replace(b.spans[i], e.text)
		case i < 0:
			data = b.add(b.entry(e.name, e.fields))
		case e.whole:
			data = b.replace(b.spans[i], b.entry(e.name, e.fields))
		default:
			data, err = b.set(b.spans[i], e.fields)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return data, nil
}

// entry is an entry as lines.
func (b *block) entry(name string, fields []field) string {
	pad := strings.Repeat(" ", b.indent)
	text := pad + yamlText(name) + ":" + b.nl
	for _, f := range fields {
		text += b.line(b.indent+b.step, f)
	}
	return text
}

func (b *block) line(indent int, f field) string {
	pad := strings.Repeat(" ", indent)
	list, ok := f.value.([]string)
	if !ok {
		return pad + f.name + ": " + yamlValue(f.value) + b.nl
	}
	text := pad + f.name + ":" + b.nl
	for _, s := range list {
		text += pad + "- " + yamlText(s) + b.nl
	}
	return text
}

func yamlValue(v any) string {
	if s, ok := v.(string); ok {
		return yamlText(s)
	}
	return fmt.Sprint(v)
}

// yamlText is a plain scalar where that can only be text, else a double-quoted one.
func yamlText(s string) string {
	out, err := yaml.Marshal(s)
	if text := strings.TrimSuffix(string(out), "\n"); err == nil && text == s {
		return s
	}
	return jsonText(s)
}
