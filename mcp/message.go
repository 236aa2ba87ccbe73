package mcp

import (
	"encoding/json"
	"strconv"
)

// ID is a JSON-RPC id as its raw JSON bytes: `7` or `"a"`. The empty ID is that of a notification.
type ID string

// IntID returns the ID of a number.
func IntID(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// Message is one JSON-RPC 2.0 message. Which of the three kinds it is follows from what is set: a request has ID and
// Method, a notification only Method, an answer ID and one of Result and Error. Params, Result and Error are raw JSON;
// they may share memory with the bytes that were parsed, and are never written to.
type Message struct {
	ID     ID
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage

	// Mirror is what an HTTP transport repeats in headers; other transports ignore it. Nil: nothing.
	Mirror *Mirror
}

// Mirror is the part of a request that Streamable HTTP repeats in headers (2026-07-28, "Standard headers").
// Values are plain: the transport encodes them.
type Mirror struct {
	Revision string  // Mcp-Protocol-Version; empty: not sent
	Method   string  // Mcp-Method; empty: not sent
	Name     string  // Mcp-Name; empty: not sent
	Params   []Param // Mcp-Param-*
}

// Param is one argument that a tool's schema asks to be repeated as the header Mcp-Param-{Name}.
type Param struct{ Name, Value string }

// IsRequest reports whether m wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != "" }

// IsNotification reports whether m is told and wants no answer.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == "" }

// IsAnswer reports whether m answers a request.
func (m *Message) IsAnswer() bool { return m.Method == "" }

// AppendTo appends m as one line of JSON without its line end. Line breaks between the tokens of a raw part, where they
// mean nothing, become spaces, so that m fits the framing of stdio; all other bytes stay as they are.
func (m *Message) AppendTo(b []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	if m.ID != "" {
		b = append(append(b, `,"id":`...), m.ID...)
	} else if m.IsAnswer() {
		b = append(b, `,"id":null`...)
	}
	if m.Method != "" {
		b = append(b, `,"method":`...)
		b = appendString(b, m.Method)
	}
	b = appendPart(b, `,"params":`, m.Params)
	b = appendPart(b, `,"result":`, m.Result)
	b = appendPart(b, `,"error":`, m.Error)
	return append(b, '}')
}

// Size is an upper bound for the bytes that AppendTo adds, but for a method that needs escapes.
func (m *Message) Size() int {
	return 64 + len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
}

func appendPart(b []byte, name string, part json.RawMessage) []byte {
	if part == nil {
		return b
	}
	b = append(b, name...)
	start := len(b)
	b = append(b, part...)
	for i := start; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' '
		}
	}
	return b
}

// Request makes a request. Params may be nil.
func Request(id ID, method string, params json.RawMessage) *Message {
	return &Message{ID: id, Method: method, Params: params}
}

// Notification makes a notification. Params may be nil.
func Notification(method string, params json.RawMessage) *Message {
	return &Message{Method: method, Params: params}
}

// Answer makes the answer to a request from a raw result.
func Answer(id ID, result json.RawMessage) *Message {
	if result == nil {
		result = json.RawMessage(`{}`)
	}
	return &Message{ID: id, Result: result}
}
