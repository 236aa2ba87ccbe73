package duplex

import (
	"bytes"
	"errors"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// maxBatch bounds the messages of one batch; the rest of it is dropped.
const maxBatch = 1000

// Frame is one message, or what is left of something that isn't one.
type Frame struct {
	Message *mcp.Message // with a Reason: what could be told of it, nil if nothing
	Reason  error        // why it is no message
	Raw     []byte       // then what it was, of something too long the first bytes, if any

	// Held is how many bytes were read for Message and are kept in memory as long as it is, such as white space and
	// members that nobody knows. 0: no more than its parts.
	Held int
}

// ErrTooLong is the Reason of a Frame that is longer than mcp.MaxMessage. Its fault.Kind is TooLarge.
var ErrTooLong error = tooLong{}

type tooLong struct{}

func (tooLong) Error() string { return "it is longer than 16 MiB" }

func (e tooLong) Unwrap() error { return fault.New(fault.TooLarge, "%s", e.Error()) }

// Parse reads b, which is a message or a batch of them (2025-03-26). It returns the first and the others, in order. A
// single message, and what is no message, keep b; the messages of a batch don't. A batch isn't asked to be valid as a
// whole, so that one bad answer in it fails one call; all in it that is no message counts as one frame, and nothing but
// white space is the zero Frame.
func Parse(b []byte) (first Frame, others []Frame) {
	held := cap(b) // what it grew into is kept along with it
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return Frame{}, nil
	}
	if b[0] != '[' {
		first = parse(b)
		first.Held = held
		return first, nil
	}
	all := split(b)
	return all[0], all[1:]
}

func parse(b []byte) Frame {
	m, err := mcp.Parse(b)
	if err == nil {
		return Frame{Message: m}
	}
	if m != nil && !meant(m, b) {
		m = nil
	}
	return Frame{Message: m, Reason: err, Raw: b}
}

// meant tells a broken message from other JSON that happens to have an id.
func meant(m *mcp.Message, b []byte) bool {
	return m.Result != nil || len(m.Error) > 0 && m.Error[0] == '{' || bytes.Contains(b, []byte(`"jsonrpc"`))
}

func split(b []byte) []Frame {
	var found []Frame
	var reason error
	n := 0
	for element := range mcp.Elements(b) {
		if n++; n > maxBatch {
			reason = errors.New("a batch of too many messages")
			break
		}
		f := parse(bytes.Clone(element)) // lest one message that takes long keep all of the batch
		f.Held = len(element)
		if f.Message != nil {
			found = append(found, f)
			continue
		}
		reason = f.Reason
		if n == 1 && element[0] != '{' {
			break // no batch, but such as "[INFO] started"
		}
	}
	if n == 0 {
		reason = errors.New("an empty batch")
	}
	if reason != nil {
		found = append(found, Frame{Reason: reason, Raw: b})
	}
	return found
}
