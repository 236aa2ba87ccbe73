package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Schema returns the JSON Schema (draft 7) of the file, as text that ends in a newline. It knows the kinds of all fields
// and the values of most; what fields mean together only the reader knows.
func Schema() []byte {
	root := objectOf(reflect.TypeFor[fileForm]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "usher's mcp.config.json"
	root["allowTrailingCommas"] = true // of VS Code
	root["definitions"] = object{"server": serverSchema(), "permissions": objectOf(reflect.TypeFor[permissionsForm]())}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("config: " + err.Error()) // the types are ours
	}
	return out.Bytes()
}

// object is a JSON object; it is written with its names sorted.
type object = map[string]any

func serverSchema() object {
	s := objectOf(reflect.TypeFor[serverForm]())
	for _, name := range silentFields {
		s["properties"].(object)[name] = object{"description": "Of other products; ignored."}
	}
	return s
}

func objectOf(t reflect.Type) object {
	properties := object{}
	var need []string
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("json")
		if name == "" {
			continue
		}
		p := schemaOf(f.Type, f.Tag)
		if _, isRef := p["$ref"]; isRef {
			p = object{"allOf": []object{p}} // draft 7 ignores what is beside a $ref
		}
		p["description"] = f.Tag.Get("doc")
		properties[name] = p
		if f.Tag.Get("need") != "" {
			need = append(need, name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if need != nil {
		s["required"] = need
	}
	return s
}

func schemaOf(t reflect.Type, tag reflect.StructTag) object {
	switch t {
	case reflect.TypeFor[span]():
		return object{"anyOf": []object{{"type": "number", "minimum": 0}, {"type": "string", "pattern": `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`}}}
	case reflect.TypeFor[scalar]():
		return object{"type": []string{"string", "number", "boolean", "null"}}
	case reflect.TypeFor[hash]():
		return object{"type": "string", "pattern": hashForm.String()}
	case reflect.TypeFor[mode]():
		return object{"enum": modes}
	case reflect.TypeFor[flowLabel]():
		return object{"enum": flowLabels}
	case reflect.TypeFor[*serverForm]():
		return object{"$ref": "#/definitions/server"}
	case reflect.TypeFor[*permissionsForm]():
		return object{"$ref": "#/definitions/permissions"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return also(objectOf(t.Elem()), tag)
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), tag)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem(), tag)}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return bounded(object{"type": "integer"}, tag)
	case reflect.Float64:
		return bounded(object{"type": "number"}, tag)
	}
	return text(tag)
}

func text(tag reflect.StructTag) object {
	if values := tag.Get("enum"); values != "" {
		return object{"enum": strings.Split(values, ",")}
	}
	return object{"type": "string"}
}

// also is for what may be written shorter than as an object.
func also(s object, tag reflect.StructTag) object {
	switch tag.Get("also") {
	case "bool":
		return object{"anyOf": []object{{"type": "boolean"}, s}}
	case "string":
		return object{"anyOf": []object{text(tag), s}}
	}
	return s
}

func bounded(s object, tag reflect.StructTag) object {
	for name, key := range map[string]string{"min": "minimum", "max": "maximum"} {
		if v, err := strconv.Atoi(tag.Get(name)); err == nil {
			s[key] = v
		}
	}
	return s
}
