package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxMessage bounds one message on every transport: 16 MiB.
	MaxMessage = 16 << 20
	// MaxDepth bounds how deeply arrays and objects may be nested in a message.
	MaxDepth = 128
)

// ErrBatch is returned for a JSON-RPC batch, which only revision 2025-03-26 knew.
var ErrBatch = errors.New("a JSON-RPC batch; send one message at a time")

// decoders are pooled because a fresh one costs more than reading a small message with it.
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

// Validate reports why b is not one JSON value that every reader understands alike: not JSON, a key twice in one
// object at any depth, invalid UTF-8, or nesting deeper than MaxDepth. It doesn't bound the length: callers do, before.
func Validate(b []byte) error {
	if (&quick{b: b}).accepts() {
		return nil
	}
	return strict(b)
}

func strict(b []byte) error {
	if err := checkDepth(b); err != nil {
		return err
	}
	d := decoders.Get().(*pooled)
	defer func() {
		d.buf = bytes.Buffer{} // b isn't the pool's to keep
		d.Reset(&d.buf)
		decoders.Put(d)
	}()
	d.buf = *bytes.NewBuffer(b)
	d.Reset(&d.buf)
	if err := d.SkipValue(); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	for _, c := range b[d.InputOffset():] {
		if !isSpace(c) {
			return errors.New("not valid JSON: more bytes after the value")
		}
	}
	return nil
}

// checkDepth looks at brackets outside strings only; Validate's decoder then finds all else that is wrong.
func checkDepth(b []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Parse reads one message and keeps its parts as slices of b. It fails as Validate does, and for what is no JSON-RPC
// 2.0 message: a batch (ErrBatch), a wrong version, an id that is neither string nor integer, parts that don't fit
// together. Member names are case-sensitive; unknown members are ignored. With an error it still returns what it could
// tell of the message, so that the caller can answer or fail the right call; this may be nil.
func Parse(b []byte) (*Message, error) {
	if err := Validate(b); err != nil {
		return sniff(b), err
	}
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		if len(t) > 0 && t[0] == '[' {
			return nil, ErrBatch
		}
		return nil, errors.New("not a JSON object")
	}
	m := new(Message)
	version, err := m.take(b)
	if err == nil && m.ID == "" && m.Method != "" && Member(b, "id") != nil {
		err = errors.New(`the "id" of a request must not be null`)
	}
	if err == nil && version != `"2.0"` {
		err = errors.New(`"jsonrpc" must be "2.0"`)
	}
	if err == nil {
		err = m.check()
	}
	return m, err
}

// take sorts the members of the object b into m.
func (m *Message) take(b []byte) (version string, err error) {
	for key, value := range Members(b) {
		switch string(key) {
		case `"jsonrpc"`:
			version = string(value)
		case `"id"`:
			err = errors.Join(err, m.takeID(value))
		case `"method"`:
			if len(value) == 0 || value[0] != '"' {
				err = errors.Join(err, errors.New(`"method" must be a string`))
				continue
			}
			m.Method = Text(value)
		case `"params"`:
			m.Params = json.RawMessage(value)
		case `"result"`:
			m.Result = json.RawMessage(value)
		case `"error"`:
			m.Error = json.RawMessage(value)
		}
	}
	return version, err
}

// takeID accepts what JSON-RPC and MCP allow, and null, which only an answer to an unreadable request may have.
func (m *Message) takeID(v []byte) error {
	switch c := v[0]; {
	case string(v) == "null":
		return nil
	case c == '"':
	case c == '-' || c >= '0' && c <= '9':
		if bytes.ContainsAny(v, ".eE") {
			return errors.New(`"id" must be a string or an integer`)
		}
	default:
		return errors.New(`"id" must be a string or an integer`)
	}
	if len(v) > 1024 {
		return errors.New(`"id" is longer than 1024 bytes`)
	}
	m.ID = ID(v)
	return nil
}

func (m *Message) check() error {
	switch {
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return errors.New("both a request and an answer")
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return errors.New(`neither "method", "result" nor "error"`)
	case m.Result != nil && m.Error != nil:
		return errors.New(`both "result" and "error"`)
	case m.Params != nil && m.Params[0] != '{':
		return errors.New(`"params" must be an object`)
	}
	return nil
}
