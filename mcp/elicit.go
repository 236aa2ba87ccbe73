package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
)

// FillDefaults returns content, the answer to a form elicitation, with the default of each property of schema that
// content doesn't have (2025-11-25, "Elicitation", primitive schemas). Schema is the requestedSchema. Defaults keep
// their bytes and come after what content has, in the schema's order; a member of content always wins, null too. A nil
// content counts as {}. Nothing is checked: whether the outcome fits the schema is the caller's business.
func FillDefaults(schema, content json.RawMessage) json.RawMessage {
	if i := skipSpace(content, 0); i == len(content) {
		content = json.RawMessage(`{}`)
	} else if content[i] != '{' {
		return content
	}
	given := make(map[string]bool)
	for key := range Members(content) {
		given[Text(key)] = true
	}
	var more []byte
	for key, property := range Members(Member(schema, "properties")) {
		name := Text(key)
		if v := Member(property, "default"); v != nil && !given[name] {
			given[name] = true
			more = append(append(appendString(append(more, ','), name), ':'), v...)
		}
	}
	end := bytes.LastIndexByte(content, '}')
	if len(more) == 0 || end < 0 {
		return content
	}
	if lastByte(content[:end]) == '{' {
		more = more[1:]
	}
	return slices.Concat(content[:end], more, content[end:])
}
