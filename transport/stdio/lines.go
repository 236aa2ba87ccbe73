package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/usher-mcp/usher/internal/duplex"
)

const (
	readSize = 64 << 10
	// sampleSize is how much of a line that is no message is shown, in bytes.
	sampleSize = 200
)

// lines splits a stream and keeps at most max bytes of a line. After an error that isn't io.EOF, such as a passed
// deadline, it can go on where it was.
type lines struct {
	r    *bufio.Reader
	max  int
	part []byte    // of a line whose end has not come
	over *overlong // in place of part, once that grew too long
}

// overlong is what is left of a line that was too long to keep.
type overlong struct {
	sample []byte
	scan   duplex.Scanner
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, readSize), max: limit}
}

// next returns a line without its LF or CRLF, in memory that is the caller's, or what is left of one. A last line
// without an end counts.
func (l *lines) next() ([]byte, *overlong, error) {
	for {
		b, err := l.r.ReadSlice('\n')
		if err == nil {
			line, over := l.end(b[:len(b)-1])
			return line, over, nil
		}
		l.keep(b)
		if err == io.EOF && (l.part != nil || l.over != nil) {
			line, over := l.end(nil)
			return line, over, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, nil, err
		}
	}
}

// ready reports whether next has a line without reading.
func (l *lines) ready() bool {
	b, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}

// end completes the line with its last bytes.
func (l *lines) end(last []byte) ([]byte, *overlong) {
	if l.part == nil && l.over == nil && len(last) <= l.max {
		return bytes.Clone(withoutCR(last)), nil
	}
	l.keep(last)
	line, over := l.part, l.over
	l.part, l.over = nil, nil
	return withoutCR(line), over
}

func (l *lines) keep(b []byte) {
	if len(b) == 0 {
		return
	}
	if l.over == nil && len(l.part)+len(b) > l.max {
		l.over = new(overlong)
		l.over.take(l.part)
		l.part = nil
	}
	if l.over != nil {
		l.over.take(b)
		return
	}
	l.grow(len(b))
	l.part = append(l.part, b...)
}

// grow doubles, where append would copy a long line many times over.
func (l *lines) grow(n int) {
	need := len(l.part) + n
	if need <= cap(l.part) {
		return
	}
	next := make([]byte, len(l.part), min(max(2*cap(l.part), need), l.max))
	copy(next, l.part)
	l.part = next
}

func (o *overlong) take(b []byte) {
	if missing := redactSize - len(o.sample); missing > 0 {
		o.sample = append(o.sample, b[:min(missing, len(b))]...)
	}
	o.scan.Write(b)
}

func withoutCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[: n-1 : n-1]
	}
	return b
}
