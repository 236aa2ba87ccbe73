package duplex

import (
	"bytes"

	"github.com/usher-mcp/usher/mcp"
)

// maxToken is above what mcp.Parse takes as an id.
const maxToken = 2 << 10

// Scanner finds the id and the method of a JSON object that goes by and isn't kept. Many servers write the id last,
// behind the result, so looking at the beginning isn't enough. Of a member that comes twice it takes the first.
type Scanner struct {
	depth    int
	inString bool
	escaped  bool
	dead     bool   // it is no object, or more than one
	closed   bool   // the object has ended
	token    []byte // what was read of a key or value right in the object
	key      string
	id       []byte
	method   []byte
}

// Write takes the next bytes of the object.
func (s *Scanner) Write(b []byte) {
	for len(b) > 0 && !s.dead {
		if s.inString && !s.escaped && s.depth > 1 { // deeper text has nothing to find but its end
			n := bytes.IndexAny(b, `"\`)
			if n < 0 {
				return
			}
			b = b[n:]
		}
		if s.inString {
			s.inText(b[0])
		} else {
			s.between(b[0])
		}
		b = b[1:]
	}
}

func (s *Scanner) inText(c byte) {
	s.capture(c)
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
	}
}

// between takes a byte that isn't within a string.
func (s *Scanner) between(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	case '{', '[':
		s.dead = s.dead || s.closed || s.depth == 0 && c == '['
		s.depth++
		return
	}
	if s.depth == 0 {
		s.dead = true
		return
	}
	switch c {
	case '}', ']':
		if s.depth == 1 {
			s.member()
			s.closed = true
		}
		s.depth--
	case ',':
		if s.depth == 1 {
			s.member()
		}
	case ':':
		if s.depth == 1 {
			s.key, s.token = string(s.token), s.token[:0]
		}
	case '"':
		s.inString = true
		s.capture(c)
	default:
		s.capture(c)
	}
}

func (s *Scanner) capture(c byte) {
	if s.depth == 1 && len(s.token) < maxToken {
		s.token = append(s.token, c)
	}
}

// member ends a member of the object.
func (s *Scanner) member() {
	switch {
	case s.key == `"id"` && s.id == nil:
		s.id = append([]byte{}, s.token...)
	case s.key == `"method"` && s.method == nil:
		s.method = append([]byte{}, s.token...)
	}
	s.key, s.token = "", s.token[:0]
}

// Message returns a message with no more than an id and a method, nil if what went by was none. It leaves the
// judgement of both to mcp.Parse.
func (s *Scanner) Message() *mcp.Message {
	if s.dead || s.id == nil && s.method == nil {
		return nil
	}
	b := []byte(`{"jsonrpc":"2.0"`)
	if s.id != nil {
		b = append(append(b, `,"id":`...), s.id...)
	}
	if s.method != nil {
		b = append(append(b, `,"method":`...), s.method...)
	} else {
		b = append(b, `,"result":{}`...)
	}
	m, err := mcp.Parse(append(b, '}'))
	if err != nil {
		return nil
	}
	return &mcp.Message{ID: m.ID, Method: m.Method}
}
