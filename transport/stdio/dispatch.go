package stdio

import (
	"context"
	"io"

	"github.com/usher-mcp/usher/mcp"
)

// read hands out what comes in until it ends. The end of the input is no error.
func (s *server) read(in io.Reader) error {
	f := newFrames(in, mcp.MaxMessage)
	for s.ctx.Err() == nil {
		next, err := f.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case next.reason != nil:
			s.refuse(next)
		case next.m != nil:
			s.take(next.m)
		}
	}
	return nil
}

// refuse answers what is no message.
func (s *server) refuse(f frame) {
	switch m := f.m; {
	case m == nil || m.ID == "":
		code := mcp.CodeParse
		if mcp.Validate(f.line) == nil {
			code = mcp.CodeInvalidRequest
		}
		s.box.put(mcp.ErrorAnswer("", code, f.reason.Error(), nil))
	case m.Method == "":
		s.answered(mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "the client's answer can't be read: "+f.reason.Error(), nil))
	default:
		s.box.put(mcp.ErrorAnswer(m.ID, mcp.CodeInvalidRequest, f.reason.Error(), nil))
	}
}

func (s *server) take(m *mcp.Message) {
	switch {
	case m.IsAnswer():
		s.answered(m)
	case m.Method == mcp.NotifyCancelled && m.ID == "":
		s.cancelled(mcp.ID(mcp.Member(m.Params, "requestId")))
	default:
		s.begin(m)
	}
}

// begin starts a call, which waits for a slot by itself: reading goes on, so that calls that hang can be cancelled.
func (s *server) begin(m *mcp.Message) {
	c := &call{s: s, req: m, after: s.before, ctx: s.ctx, cancel: func() {}}
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
	case c.req.ID != "":
		s.calls[c.req.ID] = c
	}
	s.pending++
	s.active.Add(1)
	return ""
}

func (s *server) ended() {
	s.mu.Lock()
	s.pending--
	s.mu.Unlock()
	s.active.Done()
}

// forget reports whether c is to be answered.
func (s *server) forget(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.req.ID)
	return !c.unwanted
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
