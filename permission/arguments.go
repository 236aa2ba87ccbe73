package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

type arguments struct {
	read   bool
	parsed map[string]any
	err    error
}

// maxDepth bounds how deep arguments may be nested where a rule looks at them. What is deeper can't be read, and so
// counts against the call.
const maxDepth = 200

// Arguments returns the call's arguments as nil, bool, string, json.Number, []any and map[string]any. Numbers keep
// their digits. No arguments are an empty map; what isn't one object, has a name twice or isn't UTF-8 is an error. The
// bytes are read at the first call; the result must not be changed. Not for concurrent use.
func (c *Call) Arguments() (map[string]any, error) {
	if !c.read {
		c.read = true
		c.parsed, c.err = parseArguments(c.Args)
	}
	return c.parsed, c.err
}

func parseArguments(raw json.RawMessage) (map[string]any, error) {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		return map[string]any{}, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw)) // reads from raw itself
	v, err := value(d, 0)
	if err == nil {
		if _, end := d.ReadToken(); end == nil {
			err = errors.New("there is more after them")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the arguments can't be read: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments aren't an object")
	}
	return m, nil
}

func value(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("they are nested more than %d deep", maxDepth)
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{':
		return object(d, depth)
	case '[':
		return array(d, depth)
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

func object(d *jsontext.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // the token is void after the next read
		if m[key], err = value(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return m, err
}

func array(d *jsontext.Decoder, depth int) (any, error) {
	all := []any{}
	for d.PeekKind() != ']' {
		v, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := d.ReadToken()
	return all, err
}
