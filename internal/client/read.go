package client

import (
	"context"
	"encoding/json"
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
		s.refuse(m)
	case m.IsAnswer():
		if id, ok := intOf(m.ID); !ok || !s.calls.finish(id, m, nil) {
			s.strays.Add(1)
		}
	case m.Method == mcp.NotifyProgress:
		if id, ok := intOf(mcp.Member(m.Params, mcp.MetaProgress)); !ok || !s.calls.progress(id, m) {
			s.strays.Add(1)
		}
	case m.Method == mcp.NotifyCancelled: // its requests were answered at once
	default:
		s.o.OnNotify(m)
	}
}

// failBroken fails the call that an unreadable message names.
func (s *Session) failBroken(b *transport.Broken) {
	m := b.Message
	switch {
	case m == nil || m.ID == "":
	case m.Method != "" && !s.modern.Load():
		s.post(mcp.ErrorAnswer(m.ID, mcp.CodeInvalidRequest, "the request can't be read: "+b.Reason.Error(), nil))
	case m.Method != "":
	default:
		if id, ok := intOf(m.ID); ok && s.calls.finish(id, nil, b) {
			return
		}
	}
	s.strays.Add(1)
}

// refuse answers what a legacy server asks. A modern one must not ask, and gets no answer.
func (s *Session) refuse(m *mcp.Message) {
	if s.modern.Load() {
		s.strays.Add(1)
		return
	}
	answer := answerServer(m)
	answer.Mirror = s.repeat.Load()
	s.post(answer)
}

// answerServer answers a request of a server to which we declared no capabilities.
func answerServer(m *mcp.Message) *mcp.Message {
	if m.Method == mcp.MethodPing {
		return mcp.Answer(m.ID, nil)
	}
	return mcp.ErrorAnswer(m.ID, mcp.CodeMethodNotFound, "this client declared no such capability: "+m.Method, nil)
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

// delegate lets a Conn that is a Handler do the exchange.
func (s *Session) delegate(
	ctx context.Context, m *mcp.Message, p mcp.Peer, token json.RawMessage,
) (*mcp.Message, error) {
	if err := s.Err(); err != nil {
		return nil, errors.Join(err, transport.ErrNotSent)
	}
	answer, err := s.handler.Handle(ctx, m, &callPeer{s: s, peer: p, id: m.ID, token: token})
	if answer != nil && answer.Error != nil && isRefusal(err) {
		err = nil // a JSON-RPC error is an answer, whatever HTTP status it comes with
	}
	switch {
	case err != nil:
		return nil, err
	case answer == nil || answer.ID != m.ID && (answer.ID != "" || answer.Error == nil):
		return nil, &transport.Broken{Message: m, Reason: errors.New("the answer is for another request")}
	}
	return answer, nil
}

// callPeer is what a Conn that is a Handler sees of the caller.
type callPeer struct {
	s     *Session
	peer  mcp.Peer
	id    mcp.ID
	token json.RawMessage
}

var _ mcp.Peer = (*callPeer)(nil)

// Notify passes on what belongs to the call; the rest concerns the whole session.
func (p *callPeer) Notify(ctx context.Context, m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyProgress:
		if p.token == nil || string(mcp.Member(m.Params, mcp.MetaProgress)) != string(p.id) {
			p.s.strays.Add(1)
			return
		}
		p.peer.Notify(ctx, withToken(m, p.token))
	case mcp.NotifyMessage:
		p.peer.Notify(ctx, m)
	case mcp.NotifyCancelled:
	default:
		p.s.o.OnNotify(m)
	}
}

// Request answers as a client does that declared no capabilities.
func (p *callPeer) Request(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
	return answerServer(m), nil
}
