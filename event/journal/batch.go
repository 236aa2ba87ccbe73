package journal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-mcp/usher/event"
)

const (
	lineOverhead = 512       // no less than what a line adds to its data
	keepBuffer   = 256 << 10 // larger buffers are not kept for reuse
)

// batch is what one Append encodes before it takes the lock.
type batch struct {
	buf   bytes.Buffer
	ends  []int
	data  []event.Data
	stamp []byte
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) release() {
	if b.buf.Cap() > keepBuffer {
		b.buf = bytes.Buffer{}
	}
	b.buf.Reset()
	clear(b.data)
	b.ends, b.data, b.stamp = b.ends[:0], b.data[:0], b.stamp[:0]
	batches.Put(b)
}

// encode fills b. The order of a session's end and the rest is checked here, so that queueing can't fail half-way.
func (b *batch) encode(data []event.Data, redact func([]byte) []byte) error {
	if len(data) > maxEvents {
		return fmt.Errorf("%d events at once; at most %d", len(data), maxEvents)
	}
	for i, d := range data {
		if v := reflect.ValueOf(d); v.Kind() == reflect.Pointer && !v.IsNil() && !ofCall(d) {
			d = v.Elem().Interface().(event.Data)
		}
		if _, ends := d.(event.SessionEnded); ends && i < len(data)-1 {
			return fmt.Errorf("%s in the middle: %w", d.Type(), ErrEnded)
		}
		start := b.buf.Len()
		if err := event.Encode(&b.buf, d); err != nil {
			return err
		}
		if redact != nil {
			if err := b.redact(start, redact); err != nil {
				return fmt.Errorf("%s: %w", d.Type(), err)
			}
		}
		if n := b.buf.Len() - start; n > event.MaxLine-lineOverhead {
			return fmt.Errorf("%s: an event of %d bytes; the largest is %d", d.Type(), n, event.MaxLine-lineOverhead)
		}
		b.ends = append(b.ends, b.buf.Len())
		b.data = append(b.data, d)
	}
	return nil
}

func (b *batch) redact(start int, redact func([]byte) []byte) error {
	in := b.buf.Bytes()[start:]
	out := redact(in)
	if len(out) == len(in) && &out[0] == &in[0] {
		return nil
	}
	if len(out) == 0 || out[0] != '{' || bytes.ContainsAny(out, "\r\n") ||
		!jsontext.Value(out).IsValid(jsontext.AllowDuplicateNames(true)) {
		return errors.New("redaction left something that is no JSON object")
	}
	b.buf.Truncate(start)
	b.buf.Write(out)
	return nil
}

// endsSession reports whether b ends its session.
func (b *batch) endsSession() bool {
	_, ends := b.data[len(b.data)-1].(event.SessionEnded)
	return ends
}

// size is no less than what the records, or the lines, of b take.
func (b *batch) size() int { return b.buf.Len() + len(b.ends)*lineOverhead }
