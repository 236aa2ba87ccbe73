package sse

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"sync"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const closeTimeout = time.Second

// conn is one event stream and the address that belongs to it.
type conn struct {
	*client
	http    nethttp.Client
	release func() // drops idle connections

	endpoint *url.URL
	body     io.Closer // of the stream
	events   *eventstream.Reader

	life   context.Context // of all that runs here; ends with the stream
	cancel context.CancelFunc
	inbox  chan received
	gone   chan struct{} // the reader has ended
	posts  chan struct{} // one for each request that is being posted
	rest   time.Duration // restTime

	ending sync.Once
	end    error         // set before done is closed
	done   chan struct{} // nothing is received any more

	mu      sync.Mutex
	sends   int
	closed  bool          // no Send begins any more
	drained chan struct{} // closed when closed and sends is 0
}

var _ transport.Conn = (*conn)(nil)

type received struct {
	m   *mcp.Message
	err error // *transport.Broken
}

func newConn(t *client) *conn {
	c := &conn{
		client: t, inbox: make(chan received), posts: make(chan struct{}, maxPosts), rest: restTime,
		gone: make(chan struct{}), done: make(chan struct{}), drained: make(chan struct{}),
	}
	c.http, c.release = t.httpClient()
	c.life, c.cancel = context.WithCancel(context.Background())
	return c
}

// drop ends a connection that has no reader.
func (c *conn) drop() {
	c.cancel()
	if c.body != nil {
		_ = c.body.Close()
	}
	if c.events != nil {
		c.events.Close()
	}
	c.release()
}

// Receive returns the next message of the stream. When the server ends the stream in order, or after Close, it is
// io.EOF. A message that can't be read comes as *transport.Broken, with as much as could be told of it.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	select {
	case <-c.done:
		return nil, c.end
	default:
	}
	select {
	case r := <-c.inbox:
		return r.m, r.err
	case <-c.done:
		return nil, c.end
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the stream and all that is being sent. It takes at most a second and returns nil.
func (c *conn) Close() error {
	c.finish(io.EOF)
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	for _, ended := range []<-chan struct{}{c.gone, c.drained} {
		select {
		case <-ended:
		case <-timer.C: // a RoundTripper doesn't end with its context
			return nil
		}
	}
	c.release()
	return nil
}

// finish ends the connection. The first reason stays.
func (c *conn) finish(reason error) {
	c.ending.Do(func() {
		c.mu.Lock()
		c.closed = true
		if c.sends == 0 {
			close(c.drained)
		}
		c.mu.Unlock()
		c.end = reason
		close(c.done)
		c.cancel()
	})
}

// read hands on what comes until the stream ends.
func (c *conn) read() {
	defer close(c.gone)
	defer c.release()
	defer c.body.Close()
	defer c.events.Close()
	var passing duplex.Scanner
	c.events.Long = passing.Write
	for {
		e, err := c.events.Next()
		message := e.Name == "" || e.Name == "message"
		switch {
		case err == eventstream.ErrTooLarge && message:
			c.hand(broken(passing.Message(), duplex.ErrTooLong))
		case err == eventstream.ErrTooLarge:
		case err == io.EOF:
			c.finish(io.EOF)
			return
		case err != nil:
			c.finish(fmt.Errorf("the event stream broke off: %w", dial.WithoutURL(err)))
			return
		case message:
			c.take(e.Data)
		}
		if err != nil {
			passing = duplex.Scanner{}
		}
	}
}

// take takes in what is in one event: a message, or a batch as revision 2025-03-26 allowed.
func (c *conn) take(data []byte) {
	first, others := duplex.Parse(data)
	c.handFrame(first)
	for _, f := range others {
		c.handFrame(f)
	}
}

func (c *conn) handFrame(f duplex.Frame) {
	switch {
	case f.Reason != nil:
		c.hand(broken(f.Message, f.Reason))
	case f.Message != nil:
		c.hand(received{m: f.Message})
	}
}

// hand waits for Receive: what nobody takes stays with the server.
func (c *conn) hand(r received) {
	select {
	case c.inbox <- r:
	case <-c.done:
	}
}

// broken keeps of m what names a call.
func broken(m *mcp.Message, reason error) received {
	kept := new(mcp.Message)
	if m != nil {
		kept.ID, kept.Method = m.ID, m.Method
	}
	return received{err: &transport.Broken{Message: kept, Reason: reason}}
}

// enter counts a Send that runs until leave. It fails once the connection has ended.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.sends++
	}
	return !c.closed
}

func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sends--; c.sends == 0 && c.closed {
		close(c.drained)
	}
}
