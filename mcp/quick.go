package mcp

import (
	"bytes"
	"unicode/utf8"
)

// quick recognises the JSON of nearly all messages in one pass. It only ever accepts; whatever it doesn't know, the
// strict decoder decides. Every call is read twice, and this takes a fifth of the time.
type quick struct {
	b    []byte
	keys [64]struct{ from, to int } // of the objects that are open, innermost last
	used int
}

const (
	quickDepth = 32 // levels
	quickKeys  = 16 // members of one object; each is compared with all before
)

// accepts reports whether b is one JSON value without a doubt: no key twice, valid UTF-8, not deeply nested.
func (q *quick) accepts() bool {
	end := q.value(skipSpace(q.b, 0), 0)
	return end >= 0 && skipSpace(q.b, end) == len(q.b)
}

// value returns the end of the value at i, -1 where there is a doubt.
func (q *quick) value(i, depth int) int {
	if i < 0 || i >= len(q.b) || depth > quickDepth {
		return -1
	}
	switch c := q.b[i]; {
	case c == '{':
		return q.object(i, depth)
	case c == '[':
		return q.array(i, depth)
	case c == '"':
		return q.string(i)
	case c == '-' || c >= '0' && c <= '9':
		return q.number(i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(q.b[i:], []byte(word)) {
			return i + len(word)
		}
	}
	return -1
}

func (q *quick) object(i, depth int) int {
	first := q.used
	defer func() { q.used = first }()
	if i = skipSpace(q.b, i+1); q.at(i) == '}' {
		return i + 1
	}
	for {
		end := q.key(i, first)
		if i = skipSpace(q.b, max(end, 0)); end < 0 || q.at(i) != ':' {
			return -1
		}
		if end = q.value(skipSpace(q.b, i+1), depth+1); end < 0 {
			return -1
		}
		switch i = skipSpace(q.b, end); q.at(i) {
		case '}':
			return i + 1
		case ',':
			i = skipSpace(q.b, i+1)
		default:
			return -1
		}
	}
}

// key takes the key at i, unless its object, whose keys begin at first, has it already. Keys with escapes are doubtful,
// since they could be spelt in two ways.
func (q *quick) key(i, first int) int {
	if q.at(i) != '"' || q.used == len(q.keys) || q.used-first == quickKeys {
		return -1
	}
	end := q.string(i)
	if end < 0 || bytes.IndexByte(q.b[i:end], '\\') >= 0 {
		return -1
	}
	for _, k := range q.keys[first:q.used] {
		if string(q.b[k.from:k.to]) == string(q.b[i:end]) {
			return -1
		}
	}
	q.keys[q.used].from, q.keys[q.used].to = i, end
	q.used++
	return end
}

func (q *quick) array(i, depth int) int {
	if i = skipSpace(q.b, i+1); q.at(i) == ']' {
		return i + 1
	}
	for {
		end := q.value(i, depth+1)
		if end < 0 {
			return -1
		}
		switch i = skipSpace(q.b, end); q.at(i) {
		case ']':
			return i + 1
		case ',':
			i = skipSpace(q.b, i+1)
		default:
			return -1
		}
	}
}

func (q *quick) string(i int) int {
	plain := true
	for j := i + 1; j < len(q.b); j++ {
		switch c := q.b[j]; {
		case c == '"':
			if !plain && !utf8.Valid(q.b[i:j]) {
				return -1
			}
			return j + 1
		case c == '\\':
			if j++; bytes.IndexByte([]byte(`"\/bfnrt`), q.at(j)) < 0 {
				return -1
			}
		case c < ' ':
			return -1
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	return -1
}

// number takes integers and plain fractions; exponents are doubtful.
func (q *quick) number(i int) int {
	if q.b[i] == '-' {
		i++
	}
	whole := q.digits(i)
	if whole == i || q.b[i] == '0' && whole > i+1 {
		return -1
	}
	if i = whole; q.at(i) == '.' {
		if i = q.digits(whole + 1); i == whole+1 {
			return -1
		}
	}
	if c := q.at(i); c == 'e' || c == 'E' {
		return -1
	}
	return i
}

func (q *quick) digits(i int) int {
	for i < len(q.b) && q.b[i] >= '0' && q.b[i] <= '9' {
		i++
	}
	return i
}

// at returns the byte at i, 0 behind the end.
func (q *quick) at(i int) byte {
	if i < len(q.b) {
		return q.b[i]
	}
	return 0
}
