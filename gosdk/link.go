package gosdk

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// link is the connection between us (Send, Receive) and the SDK (Read, Write). Neither channel has room: who sends
// waits until the other side takes it, so that nothing can lie in between when the link ends.
type link struct {
	in  chan jsonrpc.Message
	out chan *mcp.Message

	gone, over         chan struct{} // closed by our Close, by the SDK's
	goneOnce, overOnce sync.Once
}

func newLink() *link {
	return &link{
		in: make(chan jsonrpc.Message), out: make(chan *mcp.Message),
		gone: make(chan struct{}), over: make(chan struct{}),
	}
}

var errClosed = fmt.Errorf("%w: the connection is closed", transport.ErrNotSent)

// Send returns when the SDK has taken m.
func (l *link) Send(ctx context.Context, m *mcp.Message) error {
	theirs, err := toSDK(m)
	if err != nil {
		return fmt.Errorf("%w: %w", transport.ErrNotSent, err)
	}
	switch {
	case isClosed(l.gone), isClosed(l.over):
		return errClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", transport.ErrNotSent, context.Cause(ctx))
	}
	select {
	case l.in <- theirs:
		return nil
	case <-l.gone:
	case <-l.over:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", transport.ErrNotSent, context.Cause(ctx))
	}
	return errClosed
}

// Receive returns io.EOF when either side has closed.
func (l *link) Receive(ctx context.Context) (*mcp.Message, error) {
	if isClosed(l.gone) || isClosed(l.over) {
		return nil, io.EOF
	}
	select {
	case m := <-l.out:
		return m, nil
	case <-l.gone:
	case <-l.over:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return nil, io.EOF
}

func (l *link) leave() { l.goneOnce.Do(func() { close(l.gone) }) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sdkEnd is what the SDK holds of a link.
type sdkEnd struct{ *link }

var (
	_ sdk.Transport  = (*link)(nil)
	_ sdk.Connection = sdkEnd{}
)

// Connect gives the SDK its end.
func (l *link) Connect(context.Context) (sdk.Connection, error) { return sdkEnd{l}, nil }

// Read returns io.EOF when either side has closed, upon which the SDK cancels what runs.
func (e sdkEnd) Read(ctx context.Context) (jsonrpc.Message, error) {
	if isClosed(e.gone) {
		return nil, io.EOF
	}
	select {
	case m := <-e.in:
		return m, nil
	case <-e.gone:
	case <-e.over:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return nil, io.EOF
}

// Write waits until we take the message. The SDK calls it on many goroutines at once.
func (e sdkEnd) Write(ctx context.Context, theirs jsonrpc.Message) error {
	m, err := fromSDK(theirs)
	if err != nil {
		return err
	}
	select {
	case e.out <- m:
		return nil
	case <-e.gone:
	case <-e.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return sdk.ErrConnectionClosed
}

// Close is called by the SDK when it has nothing more to write.
func (e sdkEnd) Close() error {
	e.overOnce.Do(func() { close(e.over) })
	return nil
}

// SessionID is empty: sessions are Usher's own.
func (sdkEnd) SessionID() string { return "" }
