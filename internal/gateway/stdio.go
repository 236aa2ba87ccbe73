package gateway

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/stdio"
)

// ServeStdio serves one client that writes to in and reads from out, in either era: a request that carries the modern
// `_meta` is modern, one after initialize is legacy. It returns nil when in ends, else why it stopped: ctx, Close, or a
// stream that failed. A process has one session (O4).
func (g *Gateway) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if g.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(errClosed) })()
	f := &front{agent: agent{g: g, via: viaStdio}, greeted: make(chan struct{})}
	f.changed = f.tellChanged
	defer f.end("disconnected")
	return stdio.Serve(ctx, in, out, f)
}

// front is the Handler in front of the session of a stdio client.
type front struct {
	agent
	greet   sync.Once
	greeted chan struct{}       // closed when initialize was answered
	client  atomic.Pointer[ear] // set when the client is ready to be told things
}

type ear struct{ mcp.Peer }

var _ mcp.Handler = (*front)(nil)

// greetingTime is how long a legacy request waits for the handshake before it: requests run at once, and scripts don't
// wait for answers.
const greetingTime = time.Second

// Handle answers a request in its own era.
func (f *front) Handle(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if m.IsNotification() {
		if m.Method == mcp.NotifyInitialized {
			f.client.Store(&ear{p}) // it lives as long as the connection
		}
		return nil, nil
	}
	meta := readMetadata(m.Params)
	switch {
	case meta.version != nil:
		answer, _ := f.modern(ctx, m, meta, p)
		return answer, nil
	case m.Method == mcp.MethodInitialize:
		answer := f.initialize(m)
		f.greet.Do(func() { close(f.greeted) })
		return answer, nil
	case m.Method == mcp.MethodPing, f.waitGreeted(ctx):
		return f.legacy(ctx, m, p), nil
	}
	return meta.missing(m), nil
}

func (f *front) waitGreeted(ctx context.Context) bool {
	select {
	case <-f.greeted:
		return true
	default:
	}
	timer := time.NewTimer(greetingTime)
	defer timer.Stop()
	select {
	case <-f.greeted:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// tellChanged tells a legacy client that it should list the tools again. A modern one asks for that by
// subscriptions/listen, which isn't offered yet.
func (f *front) tellChanged() {
	if client := f.client.Load(); client != nil {
		client.Notify(f.g.ctx, mcp.Notification(mcp.NotifyTools, nil))
	}
}
