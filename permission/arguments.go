package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

type arguments struct {
	read   bool
	parsed map[string]any
	err    error
	plain  bool // all names in them are the same folded
	found  *leaves
}

// maxDepth and maxValues bound the arguments that a rule looks at. What is deeper or has more can't be read, and so
// counts against the call.
const (
	maxDepth  = 200
	maxValues = 100_000
)

// Arguments returns the call's arguments as nil, bool, string, json.Number, []any and map[string]any. Numbers keep
// their digits. No arguments are an empty map; what isn't one object, has a name twice or isn't UTF-8 is an error. The
// bytes are read at the first call; the result must not be changed. Not for concurrent use.
func (c *Call) Arguments() (map[string]any, error) {
	if !c.read {
		c.read = true
		c.parsed, c.plain, c.err = parseArguments(c.Args)
	}
	return c.parsed, c.err
}

func parseArguments(raw json.RawMessage) (m map[string]any, plain bool, err error) {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		return map[string]any{}, true, nil
	}
	d := decoders.Get().(*pooled)
	defer d.giveBack()
	d.take(raw)
	r := &reader{Decoder: d.Decoder, text: string(raw), left: maxValues, plain: true}
	v, err := r.value(0)
	if err == nil {
		if _, end := d.ReadToken(); end == nil {
			err = errors.New("there is more after them")
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("the arguments can't be read: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false, errors.New("the arguments aren't an object")
	}
	return m, r.plain, nil
}

// decoders are pooled because a fresh one costs as much as reading the arguments with it.
var decoders = sync.Pool{New: func() any {
	p := new(pooled)
	p.Decoder = jsontext.NewDecoder(&p.buf)
	return p
}}

// pooled has its buffer beside it: a decoder that reads from a bytes.Buffer works on its bytes without a copy.
type pooled struct {
	*jsontext.Decoder
	buf bytes.Buffer
}

func (p *pooled) take(raw []byte) {
	p.buf = *bytes.NewBuffer(raw)
	p.Reset(&p.buf, jsontext.AllowDuplicateNames(true)) // object refuses them faster
}

func (p *pooled) giveBack() {
	p.take(nil) // the arguments aren't the pool's to keep
	decoders.Put(p)
}

type reader struct {
	*jsontext.Decoder
	text  string // all of them; the strings are parts of it
	left  int    // values
	plain bool
}

func (r *reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("they are nested more than %d deep", maxDepth)
	}
	if r.left--; r.left < 0 {
		return nil, fmt.Errorf("they have more than %d values", maxValues)
	}
	switch r.PeekKind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		return r.string()
	}
	t, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '0':
		end := r.InputOffset()
		return json.Number(r.text[int(end)-len(t.String()) : end]), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

func (r *reader) object(depth int) (any, error) {
	_, err := r.ReadToken()
	m := map[string]any{}
	for err == nil && r.PeekKind() != '}' {
		var name string
		if name, err = r.string(); err != nil {
			return nil, err
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("the name %.100q is there twice", name)
		}
		r.plain = r.plain && isFolded(name)
		m[name], err = r.value(depth + 1)
	}
	if err == nil {
		_, err = r.ReadToken()
	}
	return m, err
}

func (r *reader) array(depth int) (any, error) {
	_, err := r.ReadToken()
	all := []any{}
	for err == nil && r.PeekKind() != ']' {
		var v any
		v, err = r.value(depth + 1)
		all = append(all, v)
	}
	if err == nil {
		_, err = r.ReadToken()
	}
	return all, err
}

// string takes a string without escapes out of the text as it stands there.
func (r *reader) string() (string, error) {
	v, err := r.ReadValue()
	switch {
	case err != nil:
		return "", err
	case v.Kind() != '"':
		return "", errors.New("a name isn't a string")
	case bytes.IndexByte(v, '\\') < 0:
		end := int(r.InputOffset())
		return r.text[end-len(v)+1 : end-1], nil
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err
}

// isFolded reports that s is lower-case ASCII, without knowing of more that fold leaves as it is.
func isFolded(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] >= 'A' && s[i] <= 'Z' {
			return false
		}
	}
	return true
}
