package client

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("USHER_CLIENT_TEST_SERVER"); mode != "" {
		if strings.HasPrefix(mode, "asks") {
			os.Exit(askingChild(mode, os.Stdin, os.Stdout))
		}
		os.Exit(child(mode, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// wire is the server's end of a connection in memory. Messages cross it as bytes, as they do on a real one.
type wire struct {
	in     chan *mcp.Message
	out    chan any // *mcp.Message or error
	closed chan struct{}
	close  sync.Once
	over   chan struct{} // the server has ended
}

// next returns what the client sent, nil once it has closed the connection.
func (w *wire) next() *mcp.Message {
	select {
	case m := <-w.in:
		return m
	case <-w.closed:
		return nil
	}
}

// say sends one line; ID stands for the id of m.
func (w *wire) say(m *mcp.Message, line string) {
	if m != nil {
		line = strings.ReplaceAll(line, "ID", string(m.ID))
	}
	var v any
	v, err := mcp.Parse([]byte(line))
	if err != nil {
		v = &transport.Broken{Message: v.(*mcp.Message), Reason: err}
	}
	w.put(v)
}

func (w *wire) put(v any) {
	select {
	case w.out <- v:
	case <-w.closed:
	}
}

// memory is a Transport whose n-th connection is served by the n-th script, later ones by the last. A script that
// returns is a server that ends.
type memory struct {
	scripts  []func(*wire)
	connects atomic.Int32
	running  sync.WaitGroup
}

func newMemory(t testing.TB, scripts ...func(*wire)) *memory {
	m := &memory{scripts: scripts}
	t.Cleanup(m.running.Wait)
	return m
}

func (t *memory) Connect(context.Context) (transport.Conn, error) {
	n := min(int(t.connects.Add(1)), len(t.scripts)) - 1
	w := &wire{in: make(chan *mcp.Message), out: make(chan any), closed: make(chan struct{}), over: make(chan struct{})}
	t.running.Go(func() {
		defer close(w.over)
		t.scripts[n](w)
	})
	return &memoryConn{w}, nil
}

type memoryConn struct{ w *wire }

func (c *memoryConn) Send(ctx context.Context, m *mcp.Message) error {
	sent, err := mcp.Parse(m.AppendTo(nil))
	if err != nil {
		return errors.Join(transport.ErrNotSent, err)
	}
	select {
	case c.w.in <- sent:
		return nil
	case <-c.w.over:
		return errors.Join(transport.ErrNotSent, errors.New("broken pipe"))
	case <-c.w.closed:
		return errors.Join(transport.ErrNotSent, os.ErrClosed)
	case <-ctx.Done():
		return errors.Join(transport.ErrNotSent, ctx.Err())
	}
}

func (c *memoryConn) Receive(ctx context.Context) (*mcp.Message, error) {
	var v any
	select {
	case v = <-c.w.out:
	case <-c.w.over:
		return nil, io.EOF
	case <-c.w.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err, ok := v.(error); ok {
		return nil, err
	}
	return v.(*mcp.Message), nil
}

func (c *memoryConn) Close() error {
	c.w.close.Do(func() { close(c.w.closed) })
	return nil
}

func (c *memoryConn) Describe() transport.Description {
	select {
	case <-c.w.over:
		return transport.Description{Exit: "exit status 3", Stderr: "starting\npanic: \x1b[31moh no\n"}
	default:
		return transport.Description{}
	}
}

const (
	discovered = `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` +
		`"capabilities":{"tools":{}},"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}}}}`
	initialized = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"l"},"instructions":"be kind"}}`
	unknownMethod = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`
)

// modernServer shakes hands; all else is up to then.
func modernServer(then func(*wire, *mcp.Message)) func(*wire) {
	return server(map[string]string{mcp.MethodDiscover: discovered}, then)
}

func legacyServer(then func(*wire, *mcp.Message)) func(*wire) {
	return server(map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: initialized}, then)
}

// server answers methods with fixed lines. An empty line is silence, "die" is what it says.
func server(lines map[string]string, then func(*wire, *mcp.Message)) func(*wire) {
	return func(w *wire) {
		for m := w.next(); m != nil; m = w.next() {
			line, ok := lines[m.Method]
			switch {
			case line == "die":
				return
			case line != "":
				w.say(m, line)
			case !ok && then != nil && m.Method != mcp.NotifyInitialized:
				then(w, m)
			}
		}
	}
}

func connect(t testing.TB, tr transport.Transport, o Options) *Session {
	t.Helper()
	s, err := Connect(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// peer keeps what it is told.
type peer struct {
	mu   sync.Mutex
	told []string
}

func (p *peer) Notify(_ context.Context, m *mcp.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, m.Method+" "+string(m.Params))
}

func (p *peer) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

func (p *peer) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.told...)
}

func wantKind(t testing.TB, err error, kind fault.Kind, words ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != kind {
		t.Errorf("got %v, want a fault of kind %s", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(f.Text(fault.English), w) {
			t.Errorf("%q doesn't say %q", f.Text(fault.English), w)
		}
	}
}
