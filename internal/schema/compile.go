package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/usher-mcp/usher/mcp"
)

const (
	// MaxBytes bounds a schema's text: 1 MiB.
	MaxBytes = 1 << 20
	// maxNodes bounds a schema's objects and booleans: the library's compiler needs time that grows with their square.
	maxNodes = 3000
	// maxPointers bounds the sum of the lengths of the JSON pointers to them, each of which the library keeps.
	maxPointers = 4 << 20
	// maxPatterns bounds the instructions of all patterns together.
	maxPatterns = 100_000
)

var errNoSchema = errors.New("there is no schema")

// base is never shown and never loaded; a reference that isn't found in the schema itself resolves below it.
const base = "http://schema.invalid/tool"

func compile(raw json.RawMessage) (root *jsonschema.Schema, i *info, err error) {
	doc, err := read(raw)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			root, i, err = nil, nil, fmt.Errorf("the schema can't be compiled: %v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(new(patterns).compile)
	if err := c.AddResource(base, doc); err != nil {
		return nil, nil, plain(err)
	}
	if root, err = c.Compile(base); err != nil {
		return nil, nil, plain(err)
	}
	if i, err = analyse(root); err != nil {
		return nil, nil, err
	}
	return root, i, nil
}

// read bounds the schema before anything else looks at it.
func read(raw json.RawMessage) (any, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes; more than %d are not read", len(raw), MaxBytes)
	}
	if text := string(bytes.TrimSpace(raw)); text == "" || text == "null" {
		return nil, errNoSchema
	}
	if err := mcp.Validate(raw); err != nil {
		return nil, fmt.Errorf("the schema can't be read: %w", err)
	}
	doc, err := unmarshal(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema can't be read: %w", err)
	}
	if path := badNumber(doc); path != nil {
		return nil, fmt.Errorf("the schema holds a number that is too large or too precise at %s", fieldOf(doc, path))
	}
	if err := dialect(doc); err != nil {
		return nil, err
	}
	var s size
	s.add(doc, 0)
	if s.nodes > maxNodes || s.pointers > maxPointers {
		return nil, fmt.Errorf("the schema has more than %d parts, or too long names", maxNodes)
	}
	return doc, nil
}

type size struct{ nodes, pointers int }

func (s *size) add(v any, pointer int) {
	switch v := v.(type) {
	case map[string]any:
		s.nodes++
		s.pointers += pointer
		for key, child := range v {
			s.add(child, pointer+len(key)+1)
		}
	case []any:
		for _, child := range v {
			s.add(child, pointer+5)
		}
	case bool:
		s.nodes++
		s.pointers += pointer
	}
}

func unmarshal(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		return nil, errors.New("more bytes after the value")
	}
	return v, nil
}

type noLoader struct{}

var _ jsonschema.URLLoader = noLoader{}

var errNotLoaded = errors.New("references to other documents are not loaded")

func (noLoader) Load(string) (any, error) { return nil, errNotLoaded }

// plain makes one short line without addresses of the library's errors.
func plain(err error) error {
	if errors.Is(err, errNotLoaded) {
		return errNotLoaded
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok && load.Err != nil {
		return errNotLoaded
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return fmt.Errorf("a pattern can't be compiled: %w", e.Err)
	}
	text := strings.ReplaceAll(err.Error(), base, "")
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if found, ok := errors.AsType[*jsonschema.ValidationError](e.Err); ok {
			text = "it breaks the rules of its dialect: " + explain(nil, nil, found).Error()
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	return errors.New("the schema can't be compiled: " + clip(text, 200))
}
