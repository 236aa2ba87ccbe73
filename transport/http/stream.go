package http

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	// graceWait is how long a call waits for the end of its stream once it has the answer, so that the next call finds
	// the TCP connection free; lingerWait is how long the end is waited for in the background.
	graceWait  = 10 * time.Millisecond
	lingerWait = time.Second
	maxLinger  = 16 // streams of one connection; further ones are closed at once
)

// follow reads a stream of events up to the answer, over several connections if need be. After it, x.stream is what is
// left of the stream.
func (x *exchange) follow(id mcp.ID, revision string, p mcp.Peer) (*mcp.Message, error) {
	var t track
	x.stream = t.open(x.res.Body)
	q := questions{exchange: x, peer: p, revision: revision}
	defer q.stop()
	for {
		m, err := x.read(id, &t, &q)
		end, ok := errors.AsType[*unfinished](err)
		if !ok {
			return m, err
		}
		if !x.mayResume(&t, revision, end.err, end.stray) {
			return nil, x.cut(id, end.err, end.stray)
		}
		if err := x.resume(&t, revision); err != nil {
			return nil, err
		}
	}
}

// unfinished is the end of a connection that came before the answer.
type unfinished struct {
	err   error // of the reader
	stray error // of an event that could be anything, perhaps the answer; nil: there was none
}

func (u *unfinished) Error() string { return u.err.Error() }

// read reads one connection of a stream up to the answer, or to an *unfinished.
func (x *exchange) read(id mcp.ID, t *track, q *questions) (*mcp.Message, error) {
	var stray error
	for {
		e, err := t.next(x.stream)
		if err != nil {
			return nil, &unfinished{err, stray}
		}
		if e.Name != "" && e.Name != "message" {
			continue
		}
		m, err := mcp.Parse(e.Data)
		switch {
		case err != nil && (m == nil || m.ID == "" && m.Method == ""):
			stray = err
		case err != nil && m.IsAnswer():
			return nil, broken(id, err)
		case err != nil && m.IsRequest():
			q.refuse(m.ID, err)
		case err != nil: // a notification that nobody can read
		case m.IsNotification():
			q.peer.Notify(x.caller, m)
		case m.IsRequest():
			q.ask(m)
		default:
			return answerTo(id, m)
		}
	}
}

// cut says why a stream ended without an answer.
func (x *exchange) cut(id mcp.ID, err, stray error) error {
	switch {
	case errors.Is(err, errEventTooLarge):
		return broken(id, err)
	case err != io.EOF, x.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrCut, x.explain("reading it", err))
	case stray != nil:
		return &transport.Broken{Message: &mcp.Message{ID: id}, Reason: stray}
	}
	return ErrCut
}

// linger finishes an exchange whose answer has come, once its stream ends. A stream that is closed before takes its TCP
// connection with it; servers often end it a moment after the answer. The caller's context no longer matters.
func (x *exchange) linger() {
	c := x.conn
	if x.stream.Ended() || c.lingering.Load() >= maxLinger {
		x.finish()
		return
	}
	x.let()
	c.lingering.Add(1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer x.finish()
		defer c.lingering.Add(-1)
		timer := time.AfterFunc(lingerWait, func() { x.cancel(nil) })
		defer timer.Stop()
		if x.stream.Drain(maxRest) {
			c.lingers.Store(false)
		}
	}()
	if c.lingers.Load() {
		return
	}
	timer := time.NewTimer(graceWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		c.lingers.Store(true)
	}
}
