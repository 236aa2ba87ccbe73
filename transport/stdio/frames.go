package stdio

import (
	"io"

	"github.com/usher-mcp/usher/internal/duplex"
)

// frames reads messages, the ones within a batch (2025-03-26) one by one.
type frames struct {
	lines   *lines
	pending []duplex.Frame // rest of a batch
}

func newFrames(r io.Reader, limit int) *frames { return &frames{lines: newLines(r, limit)} }

// next reads at most one line; an empty one is the zero frame. Its errors are those of the reader.
func (f *frames) next() (first duplex.Frame, err error) {
	if len(f.pending) > 0 {
		first, f.pending = f.pending[0], f.pending[1:]
		return first, nil
	}
	line, over, err := f.lines.next()
	switch {
	case err != nil:
		return duplex.Frame{}, err
	case over != nil:
		return duplex.Frame{Message: over.scan.Message(), Reason: duplex.ErrTooLong, Raw: over.sample}, nil
	}
	first, f.pending = duplex.Parse(line)
	return first, nil
}

// ready reports whether next has something without reading.
func (f *frames) ready() bool { return len(f.pending) > 0 || f.lines.ready() }
