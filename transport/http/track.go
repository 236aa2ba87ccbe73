package http

import (
	"errors"
	"hash/maphash"
	"io"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
)

const (
	// steady is how long a connection must have lasted to be worth another one even if nothing came on it.
	steady = 10 * time.Second
	// maxSeen bounds the ids that are remembered of one stream; the oldest are forgotten first.
	maxSeen = 4096
	// minRetry is waited before a stream is opened again, whatever shorter time a server asks for.
	minRetry = 10 * time.Millisecond
)

var errEventTooLarge error = fault.New(fault.TooLarge, "an event of the stream is longer than 16 MiB")

// track is how far one stream of events has come, over all connections that carry it one after the other (2025-11-25,
// "Resumability and redelivery"). One goroutine may use it. The zero track is a stream that nothing is known of.
type track struct {
	lastID string
	retry  time.Duration // what the server asked to wait, at least minRetry; 0: it didn't
	idle   int           // connections in a row, tried or had, that brought nothing new; who connects counts them

	brief int // connections in a row that weren't steady

	began time.Time
	nth   uint32 // of the connection
	seen  seen
}

// open begins the next connection.
func (t *track) open(r io.Reader) *eventstream.Reader {
	s := eventstream.NewReader(r, mcp.MaxMessage)
	s.IDs = true
	t.nth++
	t.brief++
	t.began = time.Now()
	return s
}

// next returns the next event of s with data. One that an earlier connection has brought is dropped. An event without an
// id can't be told from its copy; a server that gives no ids sends nothing twice. Behind an event that is longer than
// 16 MiB the stream is of no use.
func (t *track) next(s *eventstream.Reader) (eventstream.Event, error) {
	for {
		e, err := s.Next()
		t.note(s)
		if errors.Is(err, eventstream.ErrTooLarge) {
			err = errEventTooLarge
		}
		if err != nil {
			if time.Since(t.began) >= steady {
				t.idle, t.brief = 0, 0
			}
			return eventstream.Event{}, err
		}
		if e.ID != "" && !t.seen.add(e.ID, t.nth, len(e.Data) > 0) {
			continue
		}
		t.idle = 0
		if len(e.Data) > 0 {
			return e, nil
		}
	}
}

// note takes over what s says of the stream.
func (t *track) note(s *eventstream.Reader) {
	if id, ok := s.LastID(); ok {
		t.lastID = id
	}
	if wait, ok := s.Retry(); ok {
		t.retry = max(wait, minRetry)
	}
}

// resumable reports whether the server can be asked for what follows. Most ids are plain; one that HTTP can't carry
// unchanged in a header is of no use.
func (t *track) resumable() bool {
	return t.lastID != "" && dial.IsFieldValue(t.lastID) && t.lastID[0] > ' ' && t.lastID[len(t.lastID)-1] > ' '
}

// seen are the ids that came. Ids are kept as hashes: they may be long, and none is trusted with more than being told
// from the others of its stream.
type seen struct {
	seed  maphash.Seed
	marks map[uint64]mark
	order []uint64 // a ring once it is full
	next  int
}

type mark struct {
	nth  uint32 // the first connection that brought it
	data bool   // with data; without, it only said how far the stream is
}

// add remembers an id. It reports false if an earlier connection has brought as much under it. The same id twice on one
// connection is the mistake of a server that counts badly, not a copy.
func (s *seen) add(id string, nth uint32, data bool) bool {
	if s.marks == nil {
		s.seed, s.marks = maphash.MakeSeed(), make(map[uint64]mark)
	}
	h := maphash.String(s.seed, id)
	old, known := s.marks[h]
	if known && old.nth < nth && (old.data || !data) {
		return false
	}
	if known {
		s.marks[h] = mark{nth, data || old.data && old.nth == nth}
		return true
	}
	s.marks[h] = mark{nth, data}
	if len(s.order) < maxSeen {
		s.order = append(s.order, h)
		return true
	}
	delete(s.marks, s.order[s.next])
	s.order[s.next] = h
	s.next = (s.next + 1) % maxSeen
	return true
}
