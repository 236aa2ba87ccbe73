package sse

import (
	"context"
	"errors"
	nethttp "net/http"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
)

// pieceSize is how much is written within one stallTime, in bytes.
const pieceSize = 64 << 10

var (
	messageHead = []byte("event: message\ndata: ")
	eventEnd    = []byte("\n\n")

	errStopped = errors.New("the stream was stopped")
)

// stream writes events. Deadlines are only set while something is written: over HTTP/2 one that passes ends the stream.
type stream struct {
	w       nethttp.ResponseWriter
	rc      *nethttp.ResponseController
	stall   time.Duration
	turn    chan struct{} // held while writing
	since   int           // bytes since the deadline was set; of who has the turn
	stopped atomic.Bool
}

var _ duplex.Sink = (*stream)(nil)

func newStream(w nethttp.ResponseWriter, stall time.Duration) *stream {
	return &stream{w: w, rc: nethttp.NewResponseController(w), stall: stall, turn: make(chan struct{}, 1)}
}

// begin writes the head and the first event.
func (s *stream) begin(endpoint string) error {
	h := s.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must pass each event on at once
	_ = s.rc.SetReadDeadline(time.Time{})
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.w.WriteHeader(nethttp.StatusOK)
	return s.write("event: endpoint\ndata: " + endpoint + "\n\n")
}

// Write sends the messages of b as events. A client that doesn't take them in time makes it fail.
func (s *stream) Write(b *duplex.Batch) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if err := s.extend(); err != nil {
		return err
	}
	for m := range b.Messages() {
		if err := s.put(messageHead, m, eventEnd); err != nil {
			return err
		}
	}
	return s.flush()
}

// write writes a whole event. Only who has the turn may call it.
func (s *stream) write(event string) error {
	if err := s.extend(); err != nil {
		return err
	}
	if err := s.put([]byte(event)); err != nil {
		return err
	}
	return s.flush()
}

func (s *stream) put(parts ...[]byte) error {
	for _, part := range parts {
		for len(part) > 0 {
			piece := part[:min(len(part), pieceSize)]
			part = part[len(piece):]
			if s.since += len(piece); s.since > pieceSize {
				if err := s.extend(); err != nil {
					return err
				}
				s.since = len(piece)
			}
			if _, err := s.w.Write(piece); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) flush() error {
	if err := s.rc.Flush(); err != nil {
		return err
	}
	_ = s.rc.SetWriteDeadline(time.Time{})
	return s.check()
}

// extend gives the client time to take the next bytes. A ResponseWriter without deadlines waits as long as it likes.
func (s *stream) extend() error {
	s.since = 0
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.stall))
	return s.check()
}

// check comes after each change of the deadline, which may have undone that of Stop.
func (s *stream) check() error {
	if s.stopped.Load() {
		s.expire()
		return errStopped
	}
	return nil
}

// Stop makes what is being written fail, and all that comes.
func (s *stream) Stop() bool {
	s.stopped.Store(true)
	return s.expire()
}

func (s *stream) expire() bool { return s.rc.SetWriteDeadline(time.Unix(1, 0)) == nil }

// heartbeat is what writes comments while nothing else is written.
type heartbeat struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// keepAlive writes a comment every so often, so that proxies keep the stream and a client that is gone is noticed: then
// it calls gone and ends.
func (s *stream) keepAlive(every time.Duration, gone func()) heartbeat {
	ctx, cancel := context.WithCancel(context.Background())
	h := heartbeat{cancel, make(chan struct{})}
	go func() {
		defer close(h.done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if s.beat() != nil {
				gone()
				return
			}
		}
	}()
	return h
}

func (s *stream) beat() error {
	select {
	case s.turn <- struct{}{}:
	default:
		return nil // something is being written
	}
	defer func() { <-s.turn }()
	return s.write(": keep-alive\n\n")
}

// end stops the heartbeat and leaves the stream to net/http, which writes its last bytes.
func (s *stream) end(h heartbeat) {
	h.cancel()
	if !within(h.done, endTime) {
		s.Stop()
		<-h.done
	}
	if !s.stopped.Load() {
		_ = s.rc.SetWriteDeadline(time.Now().Add(endTime))
	}
}
