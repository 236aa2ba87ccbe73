package stdio

import (
	"bytes"
	"errors"
	"io"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// maxBatch bounds the messages of one batch; the rest of it is dropped.
const maxBatch = 1000

// frame is one message, or what is left of something that isn't one.
type frame struct {
	m      *mcp.Message // with a reason: what could be told of it, nil if nothing
	reason error        // why it is no message
	line   []byte       // then what it was, of an overlong line the first bytes
}

// frames reads messages, the ones within a batch (2025-03-26) one by one.
type frames struct {
	lines   *lines
	pending []frame // rest of a batch
}

func newFrames(r io.Reader, limit int) *frames { return &frames{lines: newLines(r, limit)} }

// next reads at most one line; an empty one is the zero frame. Its errors are those of the reader.
func (f *frames) next() (frame, error) {
	if len(f.pending) == 0 {
		line, over, err := f.lines.next()
		switch {
		case err != nil:
			return frame{}, err
		case over != nil:
			return frame{over.scan.message(), new(tooLong), over.sample}, nil
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return frame{}, nil
		}
		if line[0] != '[' {
			return parse(line), nil
		}
		f.pending = split(line)
	}
	first := f.pending[0]
	f.pending = f.pending[1:]
	return first, nil
}

// ready reports whether next has something without reading.
func (f *frames) ready() bool { return len(f.pending) > 0 || f.lines.ready() }

func parse(b []byte) frame {
	m, err := mcp.Parse(b)
	if err == nil {
		return frame{m: m}
	}
	if m != nil && !meant(m, b) {
		m = nil
	}
	return frame{m, err, b}
}

// meant tells a broken message from a log line in JSON that happens to have an id.
func meant(m *mcp.Message, b []byte) bool {
	return m.Result != nil || len(m.Error) > 0 && m.Error[0] == '{' || bytes.Contains(b, []byte(`"jsonrpc"`))
}

// split takes a batch apart without asking that all of it is valid, so that one bad answer fails one call. All that isn't
// a message in it counts as one piece.
func split(line []byte) []frame {
	var found []frame
	var reason error
	n := 0
	for element := range mcp.Elements(line) {
		if n++; n > maxBatch {
			reason = errors.New("a batch of too many messages")
			break
		}
		f := parse(element)
		if f.m != nil {
			found = append(found, f)
			continue
		}
		reason = f.reason
		if n == 1 && element[0] != '{' {
			break // no batch, but such as "[INFO] started"
		}
	}
	if n == 0 {
		reason = errors.New("an empty batch")
	}
	if reason != nil {
		found = append(found, frame{reason: reason, line: line})
	}
	return found
}

// tooLong is the reason for a message that is longer than mcp.MaxMessage. Its fault.Kind is TooLarge.
type tooLong struct{}

func (*tooLong) Error() string { return "it is longer than 16 MiB" }

func (e *tooLong) Unwrap() error { return fault.New(fault.TooLarge, "%s", e.Error()) }
