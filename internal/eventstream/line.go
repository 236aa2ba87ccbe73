package eventstream

import (
	"bytes"
	"strconv"
	"time"
)

const (
	// maxName is above the longest name of a field, with a byte order mark before it.
	maxName = 16
	// maxValue bounds an id, an event's name and a time to wait, in bytes.
	maxValue = 4 << 10
)

// line is the line whose end hasn't come. A field's name, and a value that isn't data, are kept until then; data goes to
// the event as it comes.
type line struct {
	first bool // of the stream: it may begin with a byte order mark
	state state
	named int // bytes in name
	name  [maxName]byte
	value []byte // at most one byte more than maxValue
}

type state byte

const (
	inName  state = iota
	atValue       // behind the colon
	inValue       // behind the one space that may follow it
)

// take takes a part of a line.
func (r *Reader) take(b []byte) error {
	l := &r.line
	if l.state == inName {
		name, rest, colon := bytes.Cut(b, []byte(":"))
		l.named += copy(l.name[l.named:], name)
		if !colon {
			return nil
		}
		b, l.state = rest, atValue
		if err := r.endName(); err != nil {
			return err
		}
	}
	if len(b) == 0 {
		return nil
	}
	if l.state == atValue {
		b, l.state = bytes.TrimPrefix(b, []byte(" ")), inValue
	}
	switch string(l.name[:l.named]) {
	case "data":
		return r.add(b)
	case "event", "id", "retry":
		l.value = append(l.value, b[:min(len(b), maxValue+1-len(l.value))]...)
	}
	return nil
}

// endName is called when a name is complete: at its colon or at the end of the line.
func (r *Reader) endName() error {
	l := &r.line
	if mark := "\xef\xbb\xbf"; l.first && bytes.HasPrefix(l.name[:l.named], []byte(mark)) {
		l.named = copy(l.name[:], l.name[len(mark):l.named])
	}
	if string(l.name[:l.named]) != "data" {
		return nil
	}
	if r.event.hasData {
		return r.add([]byte("\n"))
	}
	r.event.hasData = true
	return nil
}

// endLine ends a line. It reports whether the line ends an event. Comments and unknown fields mean nothing.
func (r *Reader) endLine() (complete bool, err error) {
	l := &r.line
	if l.state == inName {
		if err := r.endName(); err != nil {
			return false, err
		}
	}
	complete = l.state == inName && l.named == 0
	r.field(string(l.name[:l.named]), l.value)
	l.first, l.state, l.named, l.value = false, inName, 0, l.value[:0]
	return complete, nil
}

// field takes in a field that isn't data.
func (r *Reader) field(name string, value []byte) {
	switch name {
	case "event":
		if r.event.name = "message"; string(value) != "message" {
			r.event.name = string(value[:min(len(value), maxValue)])
		}
	case "id":
		if bytes.IndexByte(value, 0) >= 0 { // the standard ignores it
			return
		}
		if r.event.hasID = true; len(value) > maxValue {
			value = nil
		}
		r.event.id = string(value)
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry, r.hasRetry = time.Duration(n)*time.Millisecond, true
		}
	}
}

// add adds to the data of the event, or passes it on if that grows too long.
func (r *Reader) add(b []byte) error {
	e := &r.event
	switch {
	case e.long:
		r.Long(b)
	case len(e.data)+len(b) <= r.max:
		r.grow(len(b))
		e.data = append(e.data, b...)
	case r.Long == nil:
		return ErrTooLarge
	default:
		r.Long(e.data)
		r.Long(b)
		e.data, e.long = nil, true
	}
	return nil
}

// grow doubles, where append would copy long data many times over.
func (r *Reader) grow(n int) {
	data := r.event.data
	need := len(data) + n
	if need <= cap(data) || data == nil {
		return
	}
	next := make([]byte, len(data), max(need, min(2*cap(data), r.max)))
	copy(next, data)
	r.event.data = next
}
