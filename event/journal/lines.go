package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/usher-mcp/usher/event"
)

var errTooLong = fmt.Errorf("a line longer than %d bytes", event.MaxLine)

// lines reads lines of at most event.MaxLine bytes; a longer one is skipped in bounded memory.
type lines struct {
	r      *bufio.Reader
	buf    []byte
	number int   // of the line read last, from 1
	offset int64 // after the last whole line
	torn   int64 // bytes after it, known at the end
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 128<<10)} }

// next returns a whole line without its newline, valid until the next call; io.EOF at the end, also before a torn
// last line; errTooLong for a line that is skipped.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	size := int64(0)
	l.number++
	for {
		part, err := l.r.ReadSlice('\n')
		size += int64(len(part))
		tooLong := size > event.MaxLine+1
		switch {
		case err == nil && tooLong:
			l.offset += size
			return nil, errTooLong
		case err == nil && len(l.buf) == 0:
			l.offset += size
			return part[:len(part)-1], nil
		case err == nil:
			l.offset += size
			l.buf = append(l.buf, part[:len(part)-1]...)
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if !tooLong {
				l.buf = append(l.buf, part...)
			}
		default:
			l.torn = size
			return nil, err
		}
	}
}
