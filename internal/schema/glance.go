package schema

import (
	"encoding/json"
	"slices"

	"github.com/usher-mcp/usher/mcp"
)

// glance is the part of a schema that most tools' schemas consist of: an object whose properties have one simple type
// each. It only ever accepts; what it doesn't accept at a glance, the library decides. It exists because every call
// pays for the check: a glance costs a tenth.
type glance struct {
	types    map[string]string // of the properties that can be judged at a glance
	required []string
	open     bool // other properties are allowed
}

// annotations say nothing about what is valid.
var annotations = []string{"title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly"}

// glanceOf returns nil for a schema with anything at its root that needs more than a glance.
func glanceOf(raw json.RawMessage) *glance {
	p := &glance{types: map[string]string{}, open: true}
	object := false
	for key, value := range mcp.Members(raw) {
		switch name := mcp.Text(key); name {
		case "type":
			object = mcp.Text(value) == "object"
		case "properties":
			p.properties(value)
		case "required":
			for element := range mcp.Elements(value) {
				p.required = append(p.required, mcp.Text(element))
			}
		case "additionalProperties":
			if string(value) != "true" {
				p.open = false
			}
		default:
			if !slices.Contains(annotations, name) {
				return nil
			}
		}
	}
	if !object || len(p.required) > 64 {
		return nil
	}
	return p
}

// properties leaves out those that have more to them than one simple type: arguments that name them get no glance.
func (p *glance) properties(raw json.RawMessage) {
	for key, schema := range mcp.Members(raw) {
		name, simple := "", true
		for keyword, value := range mcp.Members(schema) {
			switch word := mcp.Text(keyword); {
			case word == "type":
				name = mcp.Text(value)
			case !slices.Contains(annotations, word):
				simple = false
			}
		}
		if !simple {
			name = ""
		}
		p.types[mcp.Text(key)] = name
	}
}

// accepts reports whether args are valid beyond doubt.
func (p *glance) accepts(args json.RawMessage) bool {
	if p == nil || len(args) == 0 || args[0] != '{' {
		return false
	}
	var seen uint64
	for key, value := range mcp.Members(args) {
		name := key[1 : len(key)-1]
		t, known := p.types[string(name)]
		if known && !fits(t, value) || !known && (!p.open || slices.Contains(name, '\\')) || len(value) > 1<<16 {
			return false
		}
		if i := slices.IndexFunc(p.required, func(r string) bool { return r == string(name) }); i >= 0 {
			seen |= 1 << i
		}
	}
	return seen == 1<<len(p.required)-1
}

func fits(t string, value []byte) bool {
	switch c := value[0]; t {
	case "string":
		return c == '"'
	case "boolean":
		return c == 't' || c == 'f'
	case "integer":
		return len(value) < 20 && !slices.ContainsFunc(value, func(c byte) bool { return c != '-' && (c < '0' || c > '9') })
	case "number":
		return len(value) < 20 && (c == '-' || c >= '0' && c <= '9') && !slices.Contains(value, 'e') && !slices.Contains(value, 'E')
	}
	return false
}
