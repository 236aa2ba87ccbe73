package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	maxSize  = 4 << 20
	maxDepth = 128
	runeStep = 1 << 10
)

var utf8BOM = []byte("\xef\xbb\xbf")

const msgNoObject = `expected an object; write {"mcpServers": {…}}`

// document is a file as a syntax tree with the places of everything in it.
// Offsets are into data, which has no byte order mark.
type document struct {
	name   string
	data   []byte
	bom    bool
	lines  []int // offset of the start of each line
	runes  []int // characters before each multiple of runeStep
	root   hujson.Value
	object *hujson.Object // the root; without members if the file is blank
	blank  bool           // nothing but white space and comments
	// repeated holds the later ones of names that occur twice in an object.
	repeated []repeat
}

func parseDocument(name string, data []byte) (*document, error) {
	return parseWithin(name, data, maxSize)
}

func parseWithin(name string, data []byte, limit int) (*document, error) {
	d := &document{name: name, object: &hujson.Object{}}
	d.data, d.bom = bytes.CutPrefix(data, utf8BOM)
	bounded := d.data[:min(len(d.data), limit)]
	d.lines, d.runes = lineStarts(bounded), runeCounts(bounded)
	if len(data) > limit {
		return nil, d.broken(0, fmt.Sprintf("the file is larger than %d MiB; that can't be a config, check the path", limit>>20))
	}
	if err := d.checkText(); err != nil {
		return nil, err
	}
	// A line comment must end in a newline for hujson; at the end of a file it
	// need not.
	text := append(slices.Clip(d.data), '\n')
	if blank(text) {
		d.blank = true
		return d, nil
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, d.syntaxError(text, err)
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, d.broken(root.StartOffset, msgNoObject)
	}
	d.root, d.object = root, object
	d.findRepeated(root, new([]step))
	return d, nil
}

// checkText finds what must be refused before a recursive parser sees it.
func (d *document) checkText() error {
	if bytes.HasPrefix(d.data, []byte("\xff\xfe")) || bytes.HasPrefix(d.data, []byte("\xfe\xff")) {
		return d.broken(0, "the file is UTF-16; save it as UTF-8")
	}
	if at := invalidUTF8(d.data); at >= 0 {
		return d.broken(at, "a byte that is not UTF-8; save the file as UTF-8")
	}
	if at := tooDeep(d.data); at >= 0 {
		return d.broken(at, fmt.Sprintf("nested more than %d deep; remove the levels below", maxDepth))
	}
	return nil
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tooDeep returns the offset of the bracket that opens one level too many, or
// -1. Strings and comments are skipped; text that is no JSON may fool it only
// into an earlier stop, since the parser stops there too.
func tooDeep(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = stringEnd(b, i)
		case '/':
			i = commentEnd(b, i)
		}
	}
	return -1
}

func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// commentEnd returns the last byte of the comment at i, or i if there is none.
func commentEnd(b []byte, i int) int {
	open, end := "//", "\n"
	if bytes.HasPrefix(b[i:], []byte("/*")) {
		open, end = "/*", "*/"
	} else if !bytes.HasPrefix(b[i:], []byte(open)) {
		return i
	}
	n := bytes.Index(b[i+len(open):], []byte(end))
	if n < 0 {
		return len(b)
	}
	return i + len(open) + n + len(end) - 1
}

func blank(text []byte) bool { return hujson.Extra(text).IsValid() }

// syntaxError says where the parser stopped. Its own text is used only where it
// can't hold a piece of the file longer than a character.
func (d *document) syntaxError(text []byte, err error) error {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return d.broken(0, "this is not JSON")
	}
	at := min(d.lines[min(line, len(d.lines))-1]+column-1, len(d.data))
	cause := errors.Unwrap(err)
	switch {
	case errors.Is(cause, io.ErrUnexpectedEOF):
		return d.broken(len(d.data), "the file ends too early; close every { [ \" and comment")
	case strings.HasPrefix(cause.Error(), "invalid literal") && text[at] == '"':
		return d.broken(at, `this string is broken; end it with " on the same line and write a backslash as \\`)
	case strings.HasPrefix(cause.Error(), "invalid literal"):
		return d.broken(at, `this is no value; put text into "…", or write a number, true, false or null`)
	case strings.Contains(cause.Error(), "after object value"), strings.Contains(cause.Error(), "after array value"):
		return d.broken(at, cause.Error()+"; is a comma missing before it?")
	case strings.Contains(cause.Error(), "object name"):
		return d.broken(at, cause.Error()+`; write "name": value`)
	}
	return d.broken(at, cause.Error()+"; correct the JSON here")
}

func (d *document) broken(offset int, message string) *Problem {
	p := d.problem(offset, "", message)
	return &p
}

func (d *document) problem(offset int, field, message string) Problem {
	line, column := d.place(offset)
	return Problem{File: d.name, Line: line, Column: column, Field: field, Message: message}
}

// place returns the line and the column, in characters, of an offset.
func (d *document) place(offset int) (line, column int) {
	offset = min(offset, len(d.data))
	line = sort.SearchInts(d.lines, offset+1)
	return line, 1 + d.runesBefore(offset) - d.runesBefore(d.lines[line-1])
}

func (d *document) runesBefore(offset int) int {
	k := min(offset/runeStep, len(d.runes)-1)
	return d.runes[k] + starts(d.data[k*runeStep:offset])
}

// runeCounts lets place be cheap also where a large file is one line.
func runeCounts(b []byte) []int {
	counts := []int{0}
	for len(b) >= runeStep {
		counts = append(counts, counts[len(counts)-1]+starts(b[:runeStep]))
		b = b[runeStep:]
	}
	return counts
}

// starts counts the bytes that start a character.
func starts(b []byte) int {
	n := 0
	for _, c := range b {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

func lineStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
