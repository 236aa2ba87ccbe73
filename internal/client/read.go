package client

import (
	"context"
	"errors"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// read takes in all that the server sends until the connection ends. It never waits for anybody but the connection.
func (s *Session) read() {
	defer close(s.done)
	for {
		m, err := s.conn.Receive(s.ctx)
		if broken, ok := errors.AsType[*transport.Broken](err); ok {
			s.failBroken(broken)
			continue
		}
		if err != nil {
			s.finish(err)
			return
		}
		s.take(m)
	}
}

// finish ends the session: first for whoever asks, so that a call that fails finds Done closed, then the calls in
// flight, so that each fails at once, then what we had started.
func (s *Session) finish(err error) {
	if s.closed.Load() {
		err = errClosed
	}
	s.end = &ended{err}
	close(s.over)
	s.calls.close(s.end)
	s.cancel()
}

// ended is the end of the connection, seen by a call.
type ended struct{ reason error }

func (e *ended) Error() string { return "the connection ended: " + e.reason.Error() }
func (e *ended) Unwrap() error { return e.reason }

func (s *Session) take(m *mcp.Message) {
	switch {
	case m.IsRequest():
		s.answer(m)
	case m.IsAnswer():
		if id, ok := intOf(m.ID); !ok || !s.calls.finish(id, m, nil) {
			s.strays.Add(1)
		}
	case m.Method == mcp.NotifyProgress:
		if id, ok := intOf(mcp.Member(m.Params, mcp.MetaProgress)); !ok || !s.calls.progress(id, m) {
			s.strays.Add(1)
		}
	case m.Method == mcp.NotifyCancelled:
		s.takenBack(m)
	case s.modern.Load():
		s.toldByModern(m)
	default:
		s.o.OnNotify(m)
	}
}

// toldByModern sorts what a modern server says outside of calls: what bears the id of a subscription goes there.
func (s *Session) toldByModern(m *mcp.Message) {
	raw := mcp.Path(m.Params, metaKey, mcp.MetaSubscription)
	if raw == nil {
		s.o.OnNotify(m)
		return
	}
	if id, ok := subscriptionID(raw); !ok || !s.calls.heard(id, m) {
		s.strays.Add(1)
	}
}

// failBroken fails the call that an unreadable message names.
func (s *Session) failBroken(b *transport.Broken) {
	m := b.Message
	switch {
	case m == nil || m.ID == "":
	case m.Method != "" && !s.modern.Load():
		s.reply(mcp.ErrorAnswer(m.ID, mcp.CodeInvalidRequest, "the request can't be read: "+b.Reason.Error(), nil))
	case m.Method != "":
	default:
		if id, ok := intOf(m.ID); ok && s.calls.finish(id, nil, b) {
			return
		}
	}
	s.strays.Add(1)
}

// postTime is how long a server may take to take in what nobody waits for; one that hangs keeps nothing else back.
const postTime = 5 * time.Second

// post queues what nobody waits for. If the server doesn't read, it is dropped.
func (s *Session) post(m *mcp.Message) {
	select {
	case s.outbox <- m:
	default:
	}
}

func (s *Session) write() {
	defer close(s.writing)
	for {
		select {
		case m := <-s.outbox:
			ctx, cancel := context.WithTimeout(s.ctx, postTime)
			_ = s.conn.Send(ctx, m) // a connection that fails is noticed by read
			cancel()
		case <-s.ctx.Done():
			return
		}
	}
}
