package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	maxShown = 1 << 20  // bytes of a file in one answer
	sniffed  = 8 << 10  // bytes in which a zero byte means that a file is binary
	piece    = 64 << 10 // bytes that are read at once
)

type readArgs struct {
	Path   string `json:"path"`
	Offset *int   `json:"offset"`
	Limit  *int   `json:"limit"`
}

type readOutput struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Next      int    `json:"nextOffset,omitzero"`
}

func (f *folder) read(ctx context.Context, a readArgs) (*output, error) {
	offset, limit, err := a.lines()
	if err != nil {
		return nil, err
	}
	name, err := f.local(a.Path)
	if err != nil {
		return nil, err
	}
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	in := pieces.Get().(*bufio.Reader)
	defer giveBack(in)
	in.Reset(file)
	r := &lineReader{ctx: ctx, in: in}
	if isBinary(r.in) {
		return nil, fmt.Errorf("%s is a binary file of %d bytes, which is not shown as text", show(name), info.Size())
	}
	for n := range offset - 1 {
		if _, _, err := r.line(0); errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has %d lines; offset %d lies behind its end", show(name), n, offset)
		} else if err != nil {
			return nil, f.explain(name, err)
		}
	}
	p, err := r.page(offset, limit)
	if err != nil {
		return nil, f.explain(name, err)
	}
	return p.output(name, info.Size()), nil
}

// pieces are the buffers that files are read through; making one costs more than reading a small file.
var pieces = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, piece) }}

func giveBack(in *bufio.Reader) {
	in.Reset(nil)
	pieces.Put(in)
}

func (a readArgs) lines() (offset, limit int, err error) {
	offset, limit = 1, maxShown
	if a.Offset != nil {
		offset = *a.Offset
	}
	if a.Limit != nil {
		limit = *a.Limit
	}
	switch {
	case a.Path == "":
		return 0, 0, errors.New(`wrong arguments: "path" is required`)
	case offset < 1 || limit < 1:
		return 0, 0, errors.New(`wrong arguments: "offset" and "limit" must be 1 or more`)
	}
	return offset, limit, nil
}

// isBinary looks at the beginning only.
func isBinary(r *bufio.Reader) bool {
	head, _ := r.Peek(sniffed) // a failure shows again when the file is read
	return bytes.IndexByte(head, 0) >= 0
}

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	ctx context.Context
	in  *bufio.Reader
}

// line reads one line with its end and returns at most keep bytes of it, and whether that is all. The error is io.EOF
// if there is none left.
func (r *lineReader) line(keep int) (text []byte, whole bool, err error) {
	whole = true
	for n := 0; ; {
		if err := r.ctx.Err(); err != nil {
			return nil, false, err
		}
		chunk, err := r.in.ReadSlice('\n')
		n += len(chunk)
		if room := keep - len(text); len(chunk) > room {
			chunk, whole = chunk[:room], false
		}
		text = append(text, chunk...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && n > 0:
			return text, whole, nil
		default:
			return text, whole, err
		}
	}
}

// page is the lines of a file that fit in one answer.
type page struct {
	text        []byte
	first, last int
	more        bool // lines follow
	cut         bool // the last line is longer than what is shown of it
}

func (r *lineReader) page(offset, limit int) (page, error) {
	p := page{first: offset, last: offset - 1}
	for p.last-p.first+1 < limit {
		text, whole, err := r.line(maxShown - len(p.text))
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if !whole && len(p.text) > 0 {
			p.more = true
			return p, nil
		}
		p.text, p.last = append(p.text, text...), p.last+1
		if !whole {
			p.text, p.cut = trimRune(p.text), true
			break
		}
	}
	_, err := r.in.Peek(1)
	p.more = err == nil
	return p, nil
}

// trimRune drops the beginning of a character whose rest was cut off.
func trimRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			return b
		}
	}
	return b
}

func (p page) output(name string, size int64) *output {
	out := readOutput{Path: valid(name), Text: string(p.text), StartLine: p.first, EndLine: p.last}
	var more, cut, replaced, empty string
	if p.cut {
		cut = fmt.Sprintf("[Line %d is longer than 1 MiB; the rest of it is not shown, search_text finds text in it.]", p.last)
	}
	if p.more {
		out.Next = p.last + 1
		more = fmt.Sprintf("[Lines %d to %d of a file of %d bytes. More follow: read on with offset %d.]", p.first, p.last, size, out.Next)
	}
	if !utf8.ValidString(out.Text) {
		out.Text = valid(out.Text)
		replaced = "[Bytes that are not UTF-8 are shown as \uFFFD.]"
	}
	if out.Text == "" {
		empty = "[The file is empty.]"
		if p.first > 1 {
			empty = "[No line follows.]"
		}
	}
	return shown(out, out.Text, empty, cut, more, replaced)
}
