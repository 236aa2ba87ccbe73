package journal

import (
	"bytes"

	"github.com/usher-mcp/usher/event"
)

// queue holds records in order. Two of them take turns: one is filled while the other is written.
type queue struct {
	buf   []byte
	notes []note // of each record
	last  uint64 // mark of the last record
	part  *part  // of the spool, where buf begins; nil: it is all in memory
	safe  bool   // all of buf lies in part
}

// add appends the events of b; mark is the first one's. It reports false, and q is as it was, where the spool has lost
// what lies in it.
func (q *queue) add(mark uint64, session string, b *batch) bool {
	if !touch(func() { q.put(mark, session, b) }) {
		if q.part == nil || !q.leave() {
			return false
		}
		q.put(mark, session, b)
	}
	for _, d := range b.data {
		q.notes = append(q.notes, noteOf(d))
	}
	q.last = mark + uint64(len(b.data)) - 1
	return true
}

func (q *queue) put(mark uint64, session string, b *batch) {
	room := cap(q.buf)
	q.buf = appendGroup(q.buf, mark, session, b)
	q.safe = q.safe && cap(q.buf) == room // else append has moved it
}

// leave takes q out of a spool that can't be written any more.
func (q *queue) leave() bool {
	if !touch(func() { q.buf = bytes.Clone(q.buf) }) {
		return false
	}
	q.part, q.safe = nil, false
	return true
}

// each calls f for all records. It reports false where they aren't as they were added: others may have the spool mapped,
// too. Then f has been called for none, or, if that happened meanwhile, for some.
func (q *queue) each(f func(record, note)) (ok bool) {
	return touch(func() { ok = q.walk(f) }) && ok
}

func (q *queue) walk(f func(record, note)) bool {
	n := 0
	for rest, ok := q.buf, true; len(rest) > 0; {
		if rest, ok = nextGroup(rest, func(record) { n++ }); !ok {
			return false
		}
	}
	if n != len(q.notes) {
		return false
	}
	n = 0
	for rest, ok := q.buf, true; len(rest) > 0; {
		if rest, ok = nextGroup(rest, func(r record) { f(r, q.notes[n]); n++ }); !ok {
			return false
		}
	}
	return true
}

// reset empties q. What a flood made large is not kept.
func (q *queue) reset() {
	clear(q.notes)
	q.notes = q.notes[:0]
	if cap(q.notes) > keepNotes {
		q.notes = nil
	}
	if q.part != nil && !q.part.commit(0) {
		q.part, q.buf, q.safe = nil, nil, false
	}
	switch {
	case q.part != nil:
		q.buf, q.safe = q.part.data[:0], true
	case cap(q.buf) > 2*softPending:
		q.buf = nil
	default:
		q.buf = q.buf[:0]
	}
}

const keepNotes = 64 << 10

// note is what an event means for what is open, kept apart from its data, whose memory is the caller's.
type note struct {
	kind             string // the event's type
	what             noteKind
	id, tool, server string
}

type noteKind uint8

const (
	nothing noteKind = iota
	sessionEnded
	callRequested
	callSent
	callAnswered
	callEnded
)

// ofCall tells the pointers that noteOf knows.
func ofCall(d event.Data) bool {
	switch d.(type) {
	case *event.ToolCallRequested, *event.PermissionRequested, *event.PermissionResolved, *event.CallStarted,
		*event.ToolStarted, *event.CallCompleted, *event.ToolCompleted:
		return true
	}
	return false
}

func noteOf(d event.Data) note {
	n := note{kind: d.Type()}
	switch d := d.(type) {
	case *event.ToolCallRequested:
		n.what, n.id, n.tool = callRequested, d.ToolCallID, d.Tool
	case *event.CallStarted:
		n.what, n.id, n.server = callSent, d.ToolCallID, d.Server
	case *event.CallCompleted:
		n.what, n.id = callAnswered, d.ToolCallID
	case *event.ToolCompleted:
		n.what, n.id = callEnded, d.ToolCallID
	case event.SessionEnded:
		n.what = sessionEnded
	case event.ToolCallRequested:
		n.what, n.id, n.tool = callRequested, d.ToolCallID, d.Tool
	case event.CallStarted:
		n.what, n.id, n.server = callSent, d.ToolCallID, d.Server
	case event.CallCompleted:
		n.what, n.id = callAnswered, d.ToolCallID
	case event.CallFailed:
		n.what, n.id = callAnswered, d.ToolCallID
	case event.ToolCompleted:
		n.what, n.id = callEnded, d.ToolCallID
	case event.ToolFailed:
		n.what, n.id = callEnded, d.ToolCallID
	}
	return n
}
