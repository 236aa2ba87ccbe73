package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// Front returns the Handler of one connection that goes both ways, in either era: a request that carries the modern
// `_meta` is modern, one after initialize is legacy. The connection is one session (O4). via is what the log calls the
// transport: ws, sse, grpc. The caller calls end when the connection is over and its calls have ended.
//
// A nil Handler says that the gateway is closing, or that there are MaxConnections already; then there is nothing to end.
func (g *Gateway) Front(via string) (h mcp.Handler, end func()) {
	f, err := g.connect(via)
	if err != nil {
		return nil, nil
	}
	return bounded{f}, func() { g.disconnect(f, "disconnected") }
}

// front is the Handler in front of the session of one connection.
type front struct {
	agent
	greet   sync.Once
	greeted chan struct{}       // closed when initialize was answered
	client  atomic.Pointer[ear] // set when the client is ready to be told things
}

type ear struct{ mcp.Peer }

var _ mcp.Handler = (*front)(nil)

var errFull = errors.New("there are too many connections; try again later")

// connect makes the front of a connection; disconnect must follow.
func (g *Gateway) connect(via string) (*front, error) {
	f := &front{agent: agent{g: g, via: via}, greeted: make(chan struct{})}
	f.changed = f.tellChanged
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, errClosed
	case len(g.fronts) >= g.o.MaxConnections:
		return nil, errFull
	}
	g.fronts[f] = struct{}{}
	return f, nil
}

func (g *Gateway) disconnect(f *front, reason string) {
	g.mu.Lock()
	delete(g.fronts, f)
	g.mu.Unlock()
	f.end(reason)
}

// bounded is a front whose calls end with the gateway, whatever its connection does.
type bounded struct{ *front }

var _ mcp.Handler = bounded{}

func (b bounded) Handle(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.g.ctx, cancel)()
	return b.front.Handle(ctx, m, p)
}

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
