package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

const (
	// maxAsked is how many questions of a server may be open at once; further ones are refused.
	maxAsked = 32
	// replyTime is how long a server may take to take in the answer to its question.
	replyTime = 30 * time.Second
)

// asked are the server's questions that are being answered, by their id. Each has a goroutine.
type asked struct {
	mu   sync.Mutex
	open map[mcp.ID]context.CancelFunc
}

// begin enters a question; it says why it can't be taken, if it can't.
func (a *asked) begin(id mcp.ID, cancel context.CancelFunc) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.open[id] != nil:
		return errors.New("a request with this id is still being answered")
	case len(a.open) == maxAsked:
		return errors.New("too many requests at once")
	}
	if a.open == nil {
		a.open = make(map[mcp.ID]context.CancelFunc)
	}
	a.open[id] = cancel
	return nil
}

func (a *asked) end(id mcp.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// cancel ends a question that the server takes back; nothing is answered then.
func (a *asked) cancel(id mcp.ID) {
	a.mu.Lock()
	cancel := a.open[id]
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answer answers what a legacy server asks outside of a call. A modern one must not ask, and gets no answer. It is for
// the reader, and waits for nobody.
func (s *Session) answer(m *mcp.Message) {
	if s.modern.Load() {
		s.strays.Add(1)
		return
	}
	if now := s.answerAtOnce(m); now != nil {
		s.reply(now)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	if err := s.asked.begin(m.ID, cancel); err != nil {
		cancel()
		s.reply(mcp.ErrorAnswer(m.ID, mcp.CodeInternal, err.Error(), nil))
		return
	}
	s.start(func() {
		defer cancel()
		defer s.asked.end(m.ID)
		answer := s.put(ctx, m)
		if ctx.Err() != nil {
			return
		}
		answer.Mirror = s.repeat.Load()
		limited, cancel := context.WithTimeout(ctx, replyTime)
		defer cancel()
		_ = s.conn.Send(limited, answer) // a connection that fails is noticed by read
	})
}

// put asks, and makes an answer of whatever comes.
func (s *Session) put(ctx context.Context, m *mcp.Message) *mcp.Message {
	if s.o.OnRequest == nil {
		return mcp.ErrorAnswer(m.ID, mcp.CodeMethodNotFound, "nobody can be asked: "+m.Method, nil)
	}
	answer, err := s.o.OnRequest(ctx, m)
	if err != nil || answer == nil || answer.Result == nil && answer.Error == nil {
		return mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "the client couldn't answer "+m.Method, nil)
	}
	return &mcp.Message{ID: m.ID, Result: answer.Result, Error: answer.Error}
}

// reply queues an answer that needed nobody.
func (s *Session) reply(m *mcp.Message) {
	m.Mirror = s.repeat.Load()
	s.post(m)
}

// answerAtOnce returns the answer to what nobody has to be asked for: a ping, and what we didn't declare. Nil: somebody
// has to be asked.
func (s *Session) answerAtOnce(m *mcp.Message) *mcp.Message {
	if m.Method == mcp.MethodPing {
		return mcp.Answer(m.ID, nil)
	}
	if s.modern.Load() {
		return mcp.ErrorAnswer(m.ID, mcp.CodeMethodNotFound, "a server must not send requests since 2026-07-28", nil)
	}
	if e := s.declared.permits(m.Method, m.Params); e != nil {
		return mcp.ErrorAnswer(m.ID, e.Code, e.Message, nil)
	}
	return nil
}

// takenBack handles notifications/cancelled of the server: of its own question or, if it is modern, of a subscription.
func (s *Session) takenBack(m *mcp.Message) {
	raw := mcp.Member(m.Params, "requestId")
	if !s.modern.Load() {
		s.asked.cancel(mcp.ID(raw))
	} else if id, ok := intOf(raw); ok {
		s.calls.endListen(id)
	}
}
