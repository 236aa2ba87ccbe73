package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/usher-mcp/usher/internal/schema"
)

var (
	subKeys  = []string{"not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "items"}
	listKeys = []string{"anyOf", "allOf", "prefixItems"}
	mapKeys  = []string{"properties", "patternProperties", "dependentSchemas"}
	nameRule = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// accept is the sum of what OpenAI, Anthropic and Gemini are documented, or reported, to refuse in a function's schema.
// It's written apart from the code that it judges.
func accept(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	root, ok := v.(map[string]any)
	if !ok || root["type"] != "object" {
		return fmt.Errorf(`schema must be a JSON Schema of 'type: "object"'`)
	}
	if _, ok := root["properties"].(map[string]any); !ok {
		return fmt.Errorf("object schema missing properties")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not", "const"} {
		if root[key] != nil {
			return fmt.Errorf("%s at the top level", key)
		}
	}
	if _, err := schema.Compile(raw); err != nil {
		return fmt.Errorf("no schema of draft 2020-12: %w", err)
	}
	return acceptSchema(v, "")
}

func acceptSchema(v any, at string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: boolean schemas are not supported", at)
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "$anchor", "$defs", "definitions", "oneOf",
		"additionalItems", "dependencies", "unevaluatedProperties", "unevaluatedItems"} {
		if _, ok := s[key]; ok {
			return fmt.Errorf("%s: %s is not supported", at, key)
		}
	}
	if err := acceptNames(s, at); err != nil {
		return err
	}
	for key, value := range s {
		var subs []any
		switch {
		case key == "additionalProperties" && (value == true || value == false):
		case slices.Contains(subKeys, key):
			subs = []any{value}
		case slices.Contains(listKeys, key):
			subs, _ = value.([]any)
		case slices.Contains(mapKeys, key):
			members, _ := value.(map[string]any)
			for _, sub := range members {
				subs = append(subs, sub)
			}
		}
		for _, sub := range subs {
			if err := acceptSchema(sub, at+"/"+key); err != nil {
				return err
			}
		}
	}
	return nil
}

func acceptNames(s map[string]any, at string) error {
	props, _ := s["properties"].(map[string]any)
	for name := range props {
		if !nameRule.MatchString(name) {
			return fmt.Errorf("%s: property keys should match pattern, not %q", at, name)
		}
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := props[name.(string)]; !ok {
			return fmt.Errorf("%s: required %q is no property", at, name)
		}
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	if slices.Contains(types, any("array")) && s["items"] == nil {
		return fmt.Errorf("%s: array schema missing items", at)
	}
	if slices.Contains(types, any("object")) && s["properties"] == nil {
		return fmt.Errorf("%s: object schema missing properties", at)
	}
	return nil
}
