package transporttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// caller is the least client that can use both kinds of Conn.
type caller struct {
	conn transport.Conn
	end  error         // of Receive
	done chan struct{} // Receive has ended

	mu      sync.Mutex
	last    int64
	answers map[mcp.ID]chan *mcp.Message
	heard   []*mcp.Message // notifications
	news    chan struct{}  // closed when heard grows
}

var _ mcp.Peer = (*caller)(nil)

// dial connects, and closes when the test ends.
func dial(t *testing.T, tr transport.Transport) *caller {
	t.Helper()
	conn, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(conn)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-c.done
		if c.end != io.EOF {
			t.Errorf("Receive ended with %v, want io.EOF", c.end)
		}
	})
	return c
}

func newCaller(conn transport.Conn) *caller {
	c := &caller{
		conn: conn, done: make(chan struct{}),
		answers: make(map[mcp.ID]chan *mcp.Message), news: make(chan struct{}),
	}
	go c.receive()
	return c
}

func (c *caller) receive() {
	defer close(c.done)
	for {
		m, err := c.conn.Receive(context.Background())
		switch {
		case err != nil:
			c.end = err
			return
		case m.IsRequest():
			_ = c.conn.Send(context.Background(), c.reply(m))
		case m.IsNotification():
			c.Notify(context.Background(), m)
		default:
			c.mu.Lock()
			answer := c.answers[m.ID]
			delete(c.answers, m.ID)
			c.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		}
	}
}

func (c *caller) reply(m *mcp.Message) *mcp.Message {
	return mcp.Answer(m.ID, fmt.Appendf(nil, `{"asked":%s}`, mcp.Quote(m.Method)))
}

func (c *caller) Notify(_ context.Context, m *mcp.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, m)
	close(c.news)
	c.news = make(chan struct{})
}

func (c *caller) Request(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
	return c.reply(m), nil
}

// call sends a request and waits for its answer. When ctx ends it cancels, in the way of the Conn.
func (c *caller) call(ctx context.Context, method, params string) (*mcp.Message, error) {
	answer := make(chan *mcp.Message, 1)
	c.mu.Lock()
	c.last++
	id := mcp.ID(strconv.FormatInt(c.last, 10))
	c.answers[id] = answer
	c.mu.Unlock()
	req := mcp.Request(id, method, []byte(params))
	if h, ok := c.conn.(mcp.Handler); ok {
		return h.Handle(ctx, req, c)
	}
	switch err := c.conn.Send(ctx, req); {
	case err != nil && (ctx.Err() == nil || errors.Is(err, transport.ErrNotSent)):
		return nil, err
	case err != nil: // ctx ended while it was handed over: it may run, as its answer would show
		return nil, c.cancel(ctx, id)
	}
	select {
	case m := <-answer:
		return m, nil
	case <-c.done:
		return nil, fmt.Errorf("the connection ended: %w", c.end)
	case <-ctx.Done():
		return nil, c.cancel(ctx, id)
	}
}

func (c *caller) cancel(ctx context.Context, id mcp.ID) error {
	n := mcp.Notification(mcp.NotifyCancelled, fmt.Appendf(nil, `{"requestId":%s}`, id))
	return errors.Join(ctx.Err(), c.conn.Send(context.WithoutCancel(ctx), n))
}

// result is what the server answers; an error answer fails the test.
func (c *caller) result(t *testing.T, method, params string) string {
	t.Helper()
	m, err := c.call(t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if m.Error != nil {
		t.Fatalf("%s: the server answered with %s", method, m.Error)
	}
	return string(m.Result)
}

// hears waits until a notification is there.
func (c *caller) hears(t *testing.T, method, params string) {
	t.Helper()
	for {
		c.mu.Lock()
		news := c.news
		there := slices.ContainsFunc(c.heard, func(m *mcp.Message) bool {
			return m.Method == method && string(m.Params) == params
		})
		c.mu.Unlock()
		if there {
			return
		}
		select {
		case <-news:
		case <-c.done:
			t.Fatalf("the connection ended (%v) before %s %s came", c.end, method, params)
		case <-t.Context().Done():
			t.Fatal("the test ended before the notification came")
		}
	}
}

func (c *caller) notifications() []*mcp.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}
