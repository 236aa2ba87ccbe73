package duplex

import (
	"context"
	"io"

	"github.com/usher-mcp/usher/mcp"
)

// read hands out what comes in until it ends. The end of the input is no error.
func (s *server) read(in Source) error {
	for s.ctx.Err() == nil {
		next, err := in.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case next.Reason != nil:
			s.refuse(next)
		case next.Message != nil:
			s.take(next)
		}
	}
	return nil
}

// refuse answers what is no message.
func (s *server) refuse(f Frame) {
	switch m := f.Message; {
	case m == nil || m.ID == "":
		code := mcp.CodeParse
		if f.Reason == ErrTooLong || mcp.Validate(f.Raw) == nil {
			code = mcp.CodeInvalidRequest
		}
		s.box.put(mcp.ErrorAnswer("", code, f.Reason.Error(), nil))
	case m.Method == "":
		s.answered(mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "the client's answer can't be read: "+f.Reason.Error(), nil))
	default:
		s.box.put(mcp.ErrorAnswer(m.ID, mcp.CodeInvalidRequest, f.Reason.Error(), nil))
	}
}

func (s *server) take(f Frame) {
	switch m := f.Message; {
	case m.IsAnswer():
		s.answered(m)
	case m.Method == mcp.NotifyCancelled && m.ID == "":
		s.cancelled(mcp.ID(mcp.Member(m.Params, "requestId")))
	default:
		s.begin(m, max(f.Held, m.Size()))
	}
}

// begin starts a call, which waits for a slot by itself: reading goes on, so that calls that hang can be cancelled.
func (s *server) begin(m *mcp.Message, size int) {
	c := &call{s: s, req: m, size: size, after: s.before, ctx: s.ctx, cancel: func() {}}
	if m.ID != "" {
		c.ctx, c.cancel = context.WithCancel(s.ctx)
	}
	if refusal := s.register(c); refusal != "" {
		c.cancel()
		if m.ID != "" {
			s.box.put(mcp.ErrorAnswer(m.ID, mcp.CodeInvalidRequest, refusal, nil))
		}
		return
	}
	if m.ID == "" {
		c.done = make(chan struct{})
		s.before = c.done
	}
	go c.run()
}

// register returns why c must not begin.
func (s *server) register(c *call) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return "the connection is ending"
	case s.pending >= maxCalls:
		return "too many requests at once; wait for answers"
	case c.req.ID != "" && s.calls[c.req.ID] != nil:
		return "a request with this id is already running"
	case s.held+c.size > maxHeld, !Share(s.shared, c.size):
		return "the requests that wait for an answer are too long together; wait for answers"
	case c.req.ID != "":
		s.calls[c.req.ID] = c
	}
	s.pending++
	s.held += c.size
	s.active.Add(1)
	return ""
}

func (s *server) ended(c *call) {
	s.mu.Lock()
	s.pending--
	s.drop(c)
	s.mu.Unlock()
	s.active.Done()
}

// forget reports whether c is to be answered. It lets go of the request, for the answer may have to wait.
func (s *server) forget(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.req.ID)
	c.req = &mcp.Message{ID: c.req.ID}
	s.drop(c)
	return !c.unwanted
}

// drop counts the bytes of c no longer. It needs s.mu.
func (s *server) drop(c *call) {
	s.held -= c.size
	Share(s.shared, -c.size)
	c.size = 0
}

func (s *server) cancelled(id mcp.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id]; c != nil {
		c.unwanted = true
		c.cancel()
	}
}

// answered hands an answer to who asked. One that nobody waits for is dropped.
func (s *server) answered(m *mcp.Message) {
	s.mu.Lock()
	answer := s.asks[m.ID]
	delete(s.asks, m.ID)
	s.mu.Unlock()
	if answer != nil {
		answer <- m // has room
	}
}
