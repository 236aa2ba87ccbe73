package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Error is a JSON-RPC error object. Data is raw and may be nil.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the peer's message and code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Err returns the error that an answer carries, nil if it has none. An error object that can't be read is reported as
// CodeInternal with its raw bytes as data.
func (m *Message) Err() *Error {
	if m.Error == nil {
		return nil
	}
	e := new(Error)
	if json.Unmarshal(m.Error, e) != nil {
		return &Error{Code: CodeInternal, Message: "the peer sent an error that can't be read", Data: m.Error}
	}
	return e
}

// ErrorAnswer makes the answer to a request that failed. Data must be JSON or nil.
func ErrorAnswer(id ID, code int, message string, data json.RawMessage) *Message {
	b := append([]byte(`{"code":`), strconv.Itoa(code)...)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return &Message{ID: id, Error: append(b, '}')}
}
