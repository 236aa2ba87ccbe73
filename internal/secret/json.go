package secret

import "github.com/usher-mcp/usher/mcp"

// RedactJSON is Redact for one JSON value, which stays one: a number that holds a known value becomes a string, and
// what only looks like a value across the borders of tokens is left. b must be valid; it is never changed.
func (s *Set) RedactJSON(b []byte) []byte {
	out := s.Redact(b)
	if len(out) == len(b) && (len(b) == 0 || &out[0] == &b[0]) || mcp.Validate(out) == nil {
		return out
	}
	return s.redactTokens(b)
}

func (s *Set) redactTokens(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); {
		end := token(b, i)
		part := s.Redact(b[i:end])
		switch {
		case b[i] == '"':
			out = append(append(append(out, '"'), s.Redact(b[i+1:end-1])...), '"')
		case end > i+1 && string(part) != string(b[i:end]):
			out = append(append(append(out, '"'), part...), '"')
		default:
			out = append(out, b[i:end]...)
		}
		i = end
	}
	return out
}

// token returns the end of the string, or of the number or word, that begins at b[i]; anything else is one byte.
func token(b []byte, i int) int {
	start := i
	if b[i] == '"' {
		for i++; i < len(b) && b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return min(i+1, len(b))
	}
	for i < len(b) && (b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] >= '0' && b[i] <= '9' || b[i] >= 'A' && b[i] <= 'Z' || b[i] >= 'a' && b[i] <= 'z') {
		i++
	}
	return max(i, start+1)
}
