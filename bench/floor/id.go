package floor

import "bytes"

// idSpan finds the value of "id" in the outermost object of a JSON-RPC message:
// it is b[start:end]. It reads up to there and no further, checks no syntax and
// does not see a key written with escapes. ok is false for a notification, a
// batch or anything it cannot follow.
func idSpan(b []byte) (start, end int, ok bool) {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case '"':
			next := stringEnd(b, i)
			if next < 0 {
				return 0, 0, false
			}
			// A value that reads "id" has no colon after it.
			if depth == 1 && b[0] != '[' && string(b[i:next]) == `"id"` {
				if colon := skipSpace(b, next); colon < len(b) && b[colon] == ':' {
					start = skipSpace(b, colon+1)
					end = scalarEnd(b, start)
					return start, end, end > start
				}
			}
			i = next
		default:
			i++
		}
	}
	return 0, 0, false
}

// stringEnd returns the index after the string that starts at b[i], or -1.
func stringEnd(b []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		escapes := quote
		for escapes > from && b[escapes-1] == '\\' {
			escapes--
		}
		from = quote + 1
		if (quote-escapes)%2 == 0 {
			return from
		}
	}
}

// scalarEnd returns the index after the string or number at b[i], or i where
// neither stands there.
func scalarEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '"' {
		return max(i, stringEnd(b, i))
	}
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || bytes.IndexByte([]byte("+-.eE"), b[i]) >= 0) {
		i++
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}
