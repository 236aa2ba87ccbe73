package http

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	maxQuestions = 16 // of one call at once; then its stream isn't read on
	replyTimeout = 30 * time.Second
)

// questions puts what a server asks during a call to the call's peer, and posts back what it says. The zero slots mean
// that nothing was asked yet.
type questions struct {
	exchange *exchange
	peer     mcp.Peer
	revision string

	ctx    context.Context // of the peer: ends with the call
	cancel context.CancelFunc
	slots  chan struct{}
	asking sync.WaitGroup
}

// ask puts m to the peer in a goroutine. Only the peer is waited for by stop: the reply may be on its way when the
// server already answers the call.
func (q *questions) ask(m *mcp.Message) {
	if !q.slot() {
		return
	}
	q.asking.Add(1)
	go func() {
		defer q.free()
		reply := q.put(m)
		if reply != nil {
			q.reply(reply)
		}
	}()
}

func (q *questions) put(m *mcp.Message) *mcp.Message {
	defer q.asking.Done()
	answer, err := q.peer.Request(q.ctx, m)
	switch {
	case q.ctx.Err() != nil: // the call is over; the server no longer waits
		return nil
	case err != nil || answer == nil:
		return mcp.ErrorAnswer(m.ID, mcp.CodeInternal, "the client couldn't answer "+m.Method, nil)
	}
	return &mcp.Message{ID: m.ID, Result: answer.Result, Error: answer.Error}
}

// refuse answers a request that can't be read.
func (q *questions) refuse(id mcp.ID, reason error) {
	if !q.slot() {
		return
	}
	go func() {
		defer q.free()
		q.reply(mcp.ErrorAnswer(id, mcp.CodeInvalidRequest, reason.Error(), nil))
	}()
}

// slot waits for the right to start a goroutine; false if the call ended before.
func (q *questions) slot() bool {
	if q.slots == nil {
		q.slots = make(chan struct{}, maxQuestions)
		q.ctx, q.cancel = context.WithCancel(q.exchange.caller)
	}
	select {
	case q.slots <- struct{}{}:
	case <-q.exchange.ctx.Done():
		return false
	}
	if !q.exchange.conn.enter() {
		<-q.slots
		return false
	}
	return true
}

func (q *questions) free() {
	q.exchange.conn.leave()
	<-q.slots
}

// reply posts an answer. The server's refusal of it is the server's business; if it can't be delivered, the call would
// wait for ever, so it fails. That this answer wasn't sent says nothing of the call: ErrNotSent must not shine through.
func (q *questions) reply(m *mcp.Message) {
	c := q.exchange.conn
	ctx, cancel := context.WithTimeout(c.life, replyTimeout)
	defer cancel()
	x, err := c.begin(ctx)
	if err == nil {
		err = x.tell(m, mcp.Mirror{Revision: q.revision})
		x.finish()
	}
	if err == nil {
		return
	}
	if _, ok := errors.AsType[*transport.StatusError](err); !ok {
		q.exchange.cancel(fmt.Errorf("the answer to the server's question couldn't be delivered: %s", err.Error()))
	}
}

// stop ends what is still being asked and waits for the peer to let go.
func (q *questions) stop() {
	if q.cancel != nil {
		q.cancel()
		q.asking.Wait()
	}
}
