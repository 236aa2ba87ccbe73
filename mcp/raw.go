package mcp

import (
	"bytes"
	"encoding/json"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Members yields the members of the JSON object b in order: the key as raw JSON with its quotes, and the raw value.
// It yields nothing if b is no object. The bytes must have passed Validate; on others it may stop early, but never
// panics.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for m := range spans(b) {
			if !yield(b[m.key:m.keyEnd], b[m.value:m.end:m.end]) {
				return
			}
		}
	}
}

// span says where a member lies in its object.
type span struct{ key, keyEnd, value, end int }

func spans(b []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		i := skipSpace(b, 0)
		if i >= len(b) || b[i] != '{' {
			return
		}
		for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; {
			m := span{key: i, keyEnd: skipValue(b, i)}
			i = skipSpace(b, m.keyEnd)
			if i >= len(b) || b[i] != ':' {
				return
			}
			m.value = skipSpace(b, i+1)
			m.end = skipValue(b, m.value)
			if m.end <= m.value || !yield(m) {
				return
			}
			if i = skipSpace(b, m.end); i < len(b) && b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// Elements yields the raw elements of the JSON array b; nothing if b is none. As Members, it trusts Validate.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; {
			end := skipValue(b, i)
			if end <= i || !yield(b[i:end:end]) {
				return
			}
			if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// Member returns the raw value of the member called name, nil if there is none. Name is plain text; a key that is
// written with escapes is found too.
func Member(b []byte, name string) json.RawMessage {
	for key, value := range Members(b) {
		if keyIs(key, name) {
			return value
		}
	}
	return nil
}

// Path returns the raw value behind a chain of member names, nil if a step is missing.
func Path(b []byte, names ...string) json.RawMessage {
	for _, name := range names {
		if b = Member(b, name); b == nil {
			return nil
		}
	}
	return b
}

// Text decodes a raw JSON string; of anything else it returns "".
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(s)
}

// Quote encodes a string as JSON. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage { return appendString(nil, s) }

// SetMember returns the object b with the member name set to the raw value, replaced in its place or appended at the
// end; a nil value removes it. All other bytes stay as they are. A nil or empty b counts as {}. b is not written to.
func SetMember(b json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	for m := range spans(b) {
		if !keyIs(b[m.key:m.keyEnd], name) {
			continue
		}
		if value == nil {
			return cut(b, m.key, m.end)
		}
		out := make([]byte, 0, len(b)-(m.end-m.value)+len(value))
		out = append(append(out, b[:m.value]...), value...)
		return append(out, b[m.end:]...)
	}
	if value == nil {
		return b
	}
	return appendMember(b, name, value)
}

func appendMember(b json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	end := bytes.LastIndexByte(b, '}')
	if end < 0 {
		b, end = json.RawMessage(`{}`), 1
	}
	out := make([]byte, 0, len(b)+len(name)+len(value)+4)
	out = append(out, b[:end]...)
	if c := lastByte(b[:end]); c != '{' {
		out = append(out, ',')
	}
	out = appendString(out, name)
	out = append(append(out, ':'), value...)
	return append(out, b[end:]...)
}

// cut removes b[from:to], a member, with the comma that belongs to it.
func cut(b []byte, from, to int) json.RawMessage {
	if i := skipSpace(b, to); i < len(b) && b[i] == ',' {
		to = i + 1
	} else {
		for j := from - 1; j >= 0; j-- {
			if b[j] == ',' {
				from = j
			}
			if !isSpace(b[j]) {
				break
			}
		}
	}
	out := make([]byte, 0, len(b)-(to-from))
	return append(append(out, b[:from]...), b[to:]...)
}

func keyIs(key []byte, name string) bool {
	if len(key) == len(name)+2 && string(key[1:len(key)-1]) == name {
		return true
	}
	return bytes.IndexByte(key, '\\') >= 0 && Text(key) == name
}

func lastByte(b []byte) byte {
	b = bytes.TrimRight(b, " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at b[i], which is valid JSON.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for ; i < len(b); i++ {
			switch b[i] {
			case '"':
				i = skipString(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(b)
	}
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error only says that invalid UTF-8 was replaced
	return b
}

// sniff finds the id and method of a message that must not be trusted, so that the right call can be failed.
func sniff(b []byte) *Message {
	m := new(Message)
	for key, value := range Members(b) {
		switch {
		case keyIs(key, "id") && m.ID == "":
			if m.takeID(value) != nil {
				return nil
			}
		case keyIs(key, "method") && m.Method == "":
			m.Method = Text(value)
		}
	}
	if m.ID == "" && m.Method == "" {
		return nil
	}
	return m
}
