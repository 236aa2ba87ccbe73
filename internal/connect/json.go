package connect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/usher-mcp/usher/config"
)

// jsonFile is JSON, also with comments and trailing commas.
type jsonFile struct{}

var _ format = jsonFile{}

func (jsonFile) entries(file string, data []byte, root []string) ([]Entry, error) {
	members, err := config.Members(file, data, root...)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, m := range members {
		fields, _ := decodeJSON(m.Value) // what is no object is an entry of nothing
		all = append(all, newEntry(m.Name, m.Text, fields))
	}
	return all, nil
}

func (f jsonFile) edit(file string, data []byte, root []string, edits []edit) ([]byte, error) {
	for _, e := range edits {
		there, err := f.has(file, data, root, e.name)
		if err != nil {
			return nil, err
		}
		path := append(root[:len(root):len(root)], e.name)
		changes := []config.MemberEdit{{Path: path, Value: e.text, AsIs: true}}
		switch {
		case e.fields == nil:
		case there && !e.whole:
			changes = nil
			for _, x := range e.fields {
				changes = append(changes, config.MemberEdit{Path: append(path[:len(path):len(path)], x.name), Value: jsonText(x.value)})
			}
		default:
			changes = []config.MemberEdit{{Path: path, Value: jsonObject(e.fields)}}
		}
		if data, err = config.EditMembers(file, data, changes...); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (f jsonFile) has(file string, data []byte, root []string, name string) (bool, error) {
	all, err := f.entries(file, data, root)
	for _, e := range all {
		if e.Name == name {
			return true, err
		}
	}
	return false, err
}

func (jsonFile) decode(data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, utf8BOM)
	if hujson.Extra(append(bytes.Clone(data), '\n')).IsValid() { // nothing but white space and comments
		return map[string]any{}, nil
	}
	plain, err := hujson.Standardize(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, err
	}
	return decodeJSON(plain)
}

func decodeJSON(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var all map[string]any
	err := d.Decode(&all)
	return all, err
}

func jsonObject(fields []field) string {
	var members []string
	for _, f := range fields {
		members = append(members, fmt.Sprintf("%s: %s", jsonText(f.name), jsonText(f.value)))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func jsonText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and lists of them can't fail
	return strings.TrimSpace(b.String())
}
