package index

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/usher-mcp/usher/event"
)

// needle looks for a text in events, whatever the case: of ASCII letters if it has no others, else of all.
type needle struct {
	text       []byte
	ascii      bool
	low, plain []byte
}

func newNeedle(text string) *needle {
	n := &needle{ascii: true}
	for i := range len(text) {
		n.ascii = n.ascii && text[i] < utf8.RuneSelf
	}
	n.text = append(n.text, n.lower([]byte(text))...)
	return n
}

func (n *needle) in(e event.Event) bool {
	if len(n.text) == 0 || n.inside([]byte(e.Type)) || n.inside(e.Data) {
		return true
	}
	if bytes.IndexByte(e.Data, '\\') < 0 {
		return false
	}
	n.plain = appendPlain(n.plain[:0], e.Data)
	return n.inside(n.plain)
}

func (n *needle) inside(b []byte) bool {
	return bytes.Contains(n.lower(b), n.text)
}

// lower returns a slice that is valid until the next call.
func (n *needle) lower(b []byte) []byte {
	if !n.ascii {
		return bytes.ToLower(b)
	}
	n.low = append(n.low[:0], b...)
	for i, c := range n.low {
		if c-'A' <= 'Z'-'A' {
			n.low[i] = c + 'a' - 'A'
		}
	}
	return n.low
}

// appendPlain appends JSON without the escapes of its strings: text to look in, no JSON any more.
func appendPlain(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '\\')
		if next < 0 || i+next+1 == len(b) {
			return append(dst, b[i:]...)
		}
		dst = append(dst, b[i:i+next]...)
		i += next + 1
		switch b[i] {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			var r rune
			r, i = unit(b, i)
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, b[i])
		}
	}
	return dst
}

// unit decodes what stands after the u at i, with the other half of a pair, and returns where that ends.
func unit(b []byte, i int) (rune, int) {
	r, ok := hex4(b, i+1)
	if !ok {
		return utf8.RuneError, i
	}
	i += 4
	if utf16.IsSurrogate(r) && i+2 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
		if low, ok := hex4(b, i+3); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return utf16.DecodeRune(r, low), i + 6
		}
	}
	return r, i
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i:i+4]), 16, 16)
	return rune(n), err == nil
}

// near reports whether a line can be one that in finds: it is quick, and may be wrong about those that it lets through.
func (n *needle) near(line []byte) bool {
	if len(n.text) == 0 || n.inside(line) {
		return true
	}
	if bytes.IndexByte(line, '\\') < 0 {
		return false
	}
	n.plain = appendPlain(n.plain[:0], line)
	return n.inside(n.plain)
}
