package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// Resource is what Usher looks into of a resource's definition. Raw holds the definition as it came.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`

	Raw json.RawMessage `json:"-"`
}

// ResourceTemplate is what Usher looks into of a resource template's definition (RFC 6570). Raw holds it as it came.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`

	Raw json.RawMessage `json:"-"`
}

// Prompt is what Usher looks into of a prompt's definition. Raw holds the definition as it came.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []PromptArgument `json:"arguments"`

	Raw json.RawMessage `json:"-"`
}

// PromptArgument is one argument that a prompt takes; its value is a string.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// ParseResource reads one element of a resources/list result.
func ParseResource(raw json.RawMessage) (Resource, error) {
	r := Resource{Raw: raw}
	err := parseDefinition(raw, &r, "resource")
	if err == nil && r.URI == "" {
		err = errors.New("a resource without a uri")
	}
	return r, err
}

// ParseResourceTemplate reads one element of a resources/templates/list result.
func ParseResourceTemplate(raw json.RawMessage) (ResourceTemplate, error) {
	t := ResourceTemplate{Raw: raw}
	err := parseDefinition(raw, &t, "resource template")
	if err == nil && t.URITemplate == "" {
		err = errors.New("a resource template without a uriTemplate")
	}
	return t, err
}

// ParsePrompt reads one element of a prompts/list result.
func ParsePrompt(raw json.RawMessage) (Prompt, error) {
	p := Prompt{Raw: raw}
	err := parseDefinition(raw, &p, "prompt")
	if err == nil && p.Name == "" {
		err = errors.New("a prompt without a name")
	}
	return p, err
}

func parseDefinition(raw json.RawMessage, into any, kind string) error {
	if err := jsonv2.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("a %s's definition can't be read: %w", kind, err)
	}
	return nil
}
