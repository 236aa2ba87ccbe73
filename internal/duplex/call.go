package duplex

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// call is one request or notification that h handles, and the Peer of it.
type call struct {
	s        *server
	req      *mcp.Message
	size     int             // bytes of memory that req keeps; guarded by s.mu once it runs
	ctx      context.Context // of a notification: the server's
	cancel   context.CancelFunc
	after    <-chan struct{} // nil, or closed when it may begin
	done     chan struct{}   // of a notification: what comes behind it may begin
	freed    sync.Once
	slot     bool // held; of the call's own goroutine
	unwanted bool // the peer has cancelled it; guarded by s.mu
}

var _ mcp.Peer = (*call)(nil)

func (c *call) run() {
	defer c.s.ended(c)
	defer c.free()
	var answer *mcp.Message
	defer func() { c.reply(answer) }() // also if h ends its goroutine
	answer = c.handle()
}

func (c *call) reply(answer *mcp.Message) {
	if c.req.ID == "" {
		return
	}
	if answer == nil {
		answer = errorAnswer(c.req.ID, fault.New(fault.Internal, "the handler panicked"))
	}
	if c.s.forget(c) && !c.s.box.put(answer) && answer.Size() > mcp.MaxMessage {
		c.s.box.put(errorAnswer(c.req.ID, fault.New(fault.TooLarge, "it is longer than 16 MiB")))
	}
	c.cancel()
}

// free gives the slot back and lets those behind go on. Safe to call again.
func (c *call) free() {
	c.freed.Do(func() {
		if c.slot {
			<-c.s.slots
		}
		if c.done != nil {
			close(c.done)
		}
	})
}

// handle returns the answer, nil after a panic (A5).
func (c *call) handle() (answer *mcp.Message) {
	defer func() { _ = recover() }()
	if c.after != nil {
		select {
		case <-c.after:
		case <-c.ctx.Done():
			return errorAnswer(c.req.ID, context.Cause(c.ctx))
		}
	}
	if c.req.ID != "" { // requests alone need a slot: those that have one may wait for what a notification says
		select {
		case c.s.slots <- struct{}{}:
			c.slot = true
		case <-c.ctx.Done():
			return errorAnswer(c.req.ID, context.Cause(c.ctx))
		}
	}
	got, err := c.s.h.Handle(c.ctx, c.req, c)
	switch {
	case err != nil:
		return errorAnswer(c.req.ID, err)
	case got == nil:
		return errorAnswer(c.req.ID, fault.New(fault.Internal, "the handler gave no answer"))
	}
	got.ID = c.req.ID
	return got
}

func errorAnswer(id mcp.ID, err error) *mcp.Message {
	f := fault.Of(err)
	return mcp.ErrorAnswer(id, f.Kind.Code(), f.Text(fault.English), nil)
}

// Notify drops m when the peer is slow, and when the request was answered or cancelled.
func (c *call) Notify(_ context.Context, m *mcp.Message) {
	if c.ctx.Err() == nil {
		c.s.box.offer(m)
	}
}

// Request asks the peer under an id of the server's own. When ctx or the call ends first, the peer is told.
func (c *call) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	c.free()
	id, answer, err := c.s.ask()
	if err != nil {
		return nil, err
	}
	ask := *m
	ask.ID = id
	if !c.s.box.put(&ask) {
		c.s.unask(id)
		return nil, errDeaf
	}
	var ended context.Context
	select {
	case got, ok := <-answer:
		if !ok {
			return nil, errDeaf
		}
		got.ID = m.ID
		return got, nil
	case <-ctx.Done():
		ended = ctx
	case <-c.ctx.Done():
		ended = c.ctx
	}
	c.s.unask(id)
	c.s.box.offer(mcp.Notification(mcp.NotifyCancelled, fmt.Appendf(nil, `{"requestId":%s}`, id)))
	return nil, context.Cause(ended)
}

var errDeaf = errors.New("the client is gone and can't be asked")

func (s *server) ask() (mcp.ID, <-chan *mcp.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.deaf || s.ctx.Err() != nil:
		return "", nil, errDeaf
	case len(s.asks) >= maxAsks:
		return "", nil, errors.New("too many questions wait for the client's answer")
	}
	s.asked++
	id := mcp.ID(`"usher-` + strconv.FormatInt(s.asked, 10) + `"`)
	answer := make(chan *mcp.Message, 1)
	s.asks[id] = answer
	return id, answer, nil
}

func (s *server) unask(id mcp.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, id)
}
