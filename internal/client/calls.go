package client

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

// call is one request in flight. Whoever removes it from calls.open signals done, exactly once; only then may its
// fields be read by the caller and the struct be used again.
type call struct {
	done   chan struct{} // room for one
	answer *mcp.Message
	err    error

	ctx   context.Context
	peer  mcp.Peer
	token json.RawMessage // the caller's own progress token; nil if it wants no progress

	listens bool // it is a subscription: peer hears its notifications as they are

	busy bool // the reader is telling peer something; guarded by calls.mu
	left bool // the caller went away meanwhile, and waits for done; guarded by calls.mu
}

// calls are the requests in flight. Progress, heard, finish, endListen and
// close are for the one reading goroutine.
type calls struct {
	mu   sync.Mutex
	open map[int64]*call
	end  error     // why no more calls are taken
	pool sync.Pool // of *call: a new channel for each call would cost more than all the rest here
}

func (t *calls) get(ctx context.Context, p mcp.Peer, token json.RawMessage) *call {
	c, ok := t.pool.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
	}
	c.ctx, c.peer, c.token = ctx, p, token
	return c
}

// put hands c back. It must be out of open, and done must be empty.
func (t *calls) put(c *call) {
	*c = call{done: c.done}
	t.pool.Put(c)
}

func (t *calls) add(id int64, c *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		return t.end
	}
	t.open[id] = c
	return nil
}

// leave gives a call up. It reports false if the call was answered or failed before that: then c tells how. When leave
// returns, nothing is told to c's peer any more.
func (t *calls) leave(id int64, c *call) bool {
	t.mu.Lock()
	mine := t.open[id] == c
	delete(t.open, id)
	wait := !mine || c.busy
	c.left = mine && c.busy
	t.mu.Unlock()
	if wait {
		<-c.done
	}
	return mine
}

// finish ends a call with an answer or an error. It reports false if there is no such call (any more).
func (t *calls) finish(id int64, answer *mcp.Message, err error) bool {
	t.mu.Lock()
	c := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if c == nil {
		return false
	}
	c.answer, c.err = answer, err
	c.done <- struct{}{}
	return true
}

// progress tells a call's peer what the server reports; it reports false if nobody wants to know.
func (t *calls) progress(id int64, m *mcp.Message) bool {
	t.mu.Lock()
	c := t.open[id]
	if c == nil || c.token == nil {
		t.mu.Unlock()
		return false
	}
	c.busy = true
	t.mu.Unlock()
	t.tell(c, withToken(m, c.token))
	return true
}

// heard tells a subscription what came for it; it reports false if there is no such subscription.
func (t *calls) heard(id int64, m *mcp.Message) bool {
	t.mu.Lock()
	c := t.open[id]
	if c == nil || !c.listens {
		t.mu.Unlock()
		return false
	}
	c.busy = true
	t.mu.Unlock()
	t.tell(c, m)
	return true
}

// tell needs a call that is busy.
func (t *calls) tell(c *call, m *mcp.Message) {
	c.peer.Notify(c.ctx, m)
	t.mu.Lock()
	c.busy = false
	left := c.left
	t.mu.Unlock()
	if left {
		c.done <- struct{}{}
	}
}

// endListen ends a subscription that the server says is over.
func (t *calls) endListen(id int64) {
	t.mu.Lock()
	c := t.open[id]
	listens := c != nil && c.listens
	t.mu.Unlock()
	if listens {
		t.finish(id, nil, errToldOver)
	}
}

// close fails all calls in flight, and those to come, with err.
func (t *calls) close(err error) {
	t.mu.Lock()
	t.end = err
	open := t.open
	t.open = nil
	t.mu.Unlock()
	for _, c := range open {
		c.err = err
		c.done <- struct{}{}
	}
}

func withToken(m *mcp.Message, token json.RawMessage) *mcp.Message {
	return mcp.Notification(m.Method, mcp.SetMember(m.Params, mcp.MetaProgress, token))
}
