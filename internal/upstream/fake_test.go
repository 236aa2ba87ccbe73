package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// far is a server that a test can kill, hang and refuse to start; its connections carry messages as a pipe does.
type far struct {
	handler mcp.Handler

	mu    sync.Mutex
	dials int
	fail  error // of Connect
	conns []*farConn
}

func (f *far) Connect(ctx context.Context) (transport.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	if f.fail != nil {
		return nil, f.fail
	}
	c := &farConn{f: f, out: make(chan *mcp.Message, 16), over: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	f.conns = append(f.conns, c)
	return c, nil
}

func (f *far) refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

func (f *far) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

// kill ends all connections as a process that exits with a code does.
func (f *far) kill() {
	f.mu.Lock()
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	for _, c := range conns {
		c.end(errExit, "exit status 3")
	}
}

var errExit = errors.New("the server ended: exit status 3")

type farConn struct {
	f      *far
	out    chan *mcp.Message
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	work   sync.WaitGroup
	deaf   atomic.Bool // nothing that is sent arrives

	once sync.Once
	over chan struct{}
	err  error
	exit string
}

func (c *farConn) end(err error, exit string) {
	c.once.Do(func() {
		c.err, c.exit = err, exit
		close(c.over)
		c.cancel()
	})
}

func (c *farConn) Send(_ context.Context, m *mcp.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock() // against Close, which waits for work
	select {
	case <-c.over:
		return transport.ErrNotSent
	default:
	}
	if m.IsNotification() || c.deaf.Load() {
		return nil
	}
	c.work.Go(func() {
		answer, err := c.f.handler.Handle(c.ctx, m, mcp.Nobody)
		if err != nil {
			return
		}
		answer.ID = m.ID
		select {
		case c.out <- answer:
		case <-c.over:
		}
	})
	return nil
}

func (c *farConn) Receive(context.Context) (*mcp.Message, error) {
	select {
	case m := <-c.out:
		return m, nil
	case <-c.over:
		return nil, c.err
	}
}

func (c *farConn) Close() error {
	c.end(io.EOF, "")
	c.mu.Lock()
	closed := &c.work // nothing begins in it after this
	c.mu.Unlock()
	closed.Wait()
	return nil
}

func (c *farConn) Describe() transport.Description {
	select {
	case <-c.over:
		return transport.Description{Exit: c.exit, ExitCode: 3, Stderr: "its last words\n"}
	default:
		return transport.Description{}
	}
}

// slow is echo, but for calls of "hang", which last until the connection ends.
var slow = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if req.Method == mcp.MethodCallTool && mcp.Text(mcp.Member(req.Params, "name")) == "hang" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return echo(ctx, req, p)
})

// options are those of a server named s, as a host makes them where nobody configures anything.
func options(kind string, t transport.Transport) Options {
	return Options{Name: "s", Kind: kind, Transport: t, Lifecycle: lifecycle.Default(), Shelf: shelf()}
}

func shelf() *catalog.Shelf {
	return catalog.New(catalog.Options{}).Shelves(context.Background(), catalog.Server{Name: "s", Key: "s"})[0]
}

func request(tool string) *mcp.Message {
	return mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"name":"`+tool+`","arguments":{"text":"x"}}`))
}

func ask(ctx context.Context, s *Server, tool string) (*mcp.Message, error) {
	return s.Do(ctx, Call{Request: request(tool), Tool: tool})
}

// calling has a call under way; what it ends with comes from the channel.
func calling(t *testing.T, s *Server, tool string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), s, tool)
		done <- err
	}()
	return done
}

// recorder keeps events.
type recorder struct {
	mu  sync.Mutex
	all []event.Data
}

func (r *recorder) record(all ...event.Data) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, all...)
}

func (r *recorder) count(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.all {
		if d.Type() == kind {
			n++
		}
	}
	return n
}

// take returns the events since the last take that concern how the server fares.
func (r *recorder) take() (out []event.Data) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.all {
		switch d.(type) {
		case event.ServerConnecting, event.ServerConnected, event.ServerLog:
		default:
			out = append(out, d)
		}
	}
	r.all = nil
	return out
}
