// Package local is the way to a server within this process: a call of a Handler, on the caller's goroutine, with
// nothing in between but a guard against its panics.
//
// It starts no goroutine, keeps no queue and makes no copy. It bounds neither the size of messages nor the time of a
// call.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// New makes a Transport to h. Its connections share h and nothing else, and each is an mcp.Handler.
func New(h mcp.Handler) transport.Transport { return local{h} }

type local struct{ h mcp.Handler }

var _ transport.Transport = local{}

// Connect always succeeds, unless ctx has ended.
func (l local) Connect(ctx context.Context) (transport.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return &conn{h: l.h, closed: make(chan struct{})}, nil
}

// conn ends no call that runs when it is closed: the call is on its caller's goroutine and has its caller's context.
type conn struct {
	h      mcp.Handler
	once   sync.Once
	closed chan struct{}
}

var (
	_ transport.Conn = (*conn)(nil)
	_ mcp.Handler    = (*conn)(nil)
)

var (
	errClosed  = fmt.Errorf("%w: the connection is closed", transport.ErrNotSent)
	errRequest = fmt.Errorf("%w: a request goes to Handle here", transport.ErrNotSent)
	errAnswer  = fmt.Errorf("%w: nothing was asked that this could answer", transport.ErrNotSent)
	errNothing = errors.New("the tool returned neither an answer nor an error")
)

// Handle calls the Handler. Its panic is a *fault.Error of kind Internal, whose Cause holds the stack (A5).
func (c *conn) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (answer *mcp.Message, err error) {
	if c.isClosed() {
		return nil, errClosed
	}
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, panicked(v)
		}
	}()
	answer, err = c.h.Handle(ctx, req, p)
	if answer == nil && err == nil && req.ID != "" {
		return nil, &fault.Error{Kind: fault.Internal, Cause: errNothing}
	}
	return answer, err
}

// Send hands a notification to the Handler, whose Peer can't be asked.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	switch {
	case m.IsRequest():
		return errRequest
	case m.IsAnswer():
		return errAnswer
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", transport.ErrNotSent, err)
	}
	_, err := c.Handle(ctx, m, mcp.Nobody)
	return err
}

// Receive waits for Close: a local server has nothing to say unasked.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	if c.isClosed() {
		return nil, io.EOF
	}
	select {
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends Receive.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func panicked(v any) error {
	return &fault.Error{Kind: fault.Internal, Detail: "it panicked", Cause: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
}
