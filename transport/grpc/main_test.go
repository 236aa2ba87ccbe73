package grpc

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// always opens a session of h for everybody.
func always(h mcp.Handler) func(context.Context, Client) (mcp.Handler, func(), error) {
	return func(context.Context, Client) (mcp.Handler, func(), error) { return h, nil, nil }
}

func listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func listenTCP(t testing.TB) net.Listener { return listen(t, "tcp", "127.0.0.1:0") }

func listenUnix(t testing.TB) (l net.Listener, url string) {
	path := filepath.Join(t.TempDir(), "a b.sock") // gRPC's own unix: targets would want the space escaped
	return listen(t, "unix", path), "unix://" + path
}

// run serves s on l until the test ends, and checks that it ends in order.
func run(t testing.TB, s *Server, l net.Listener) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// serve runs o over TCP and returns its URL.
func serve(t testing.TB, o ServerOptions) string {
	t.Helper()
	l := listenTCP(t)
	run(t, NewServer(o), l)
	if o.TLS != nil {
		return "grpcs://" + l.Addr().String()
	}
	return "grpc://" + l.Addr().String()
}

// serveRaw runs what a test makes of the service, without our server.
func serveRaw(t testing.TB, session func(mcpv1.Mcp_SessionServer) error) string {
	t.Helper()
	s := gogrpc.NewServer(gogrpc.MaxRecvMsgSize(64<<20), gogrpc.MaxSendMsgSize(64<<20))
	mcpv1.RegisterMcpServer(s, rawService{session: session})
	l := listenTCP(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return "grpc://" + l.Addr().String()
}

type rawService struct {
	mcpv1.UnimplementedMcpServer
	session func(mcpv1.Mcp_SessionServer) error
}

func (s rawService) Session(stream mcpv1.Mcp_SessionServer) error { return s.session(stream) }

// rawConn is a gRPC connection without our client end.
func rawConn(t testing.TB, l string) *gogrpc.ClientConn {
	t.Helper()
	cc, err := gogrpc.NewClient("dns:///"+l[len("grpc://"):], gogrpc.WithTransportCredentials(insecure.NewCredentials()),
		gogrpc.WithDefaultCallOptions(gogrpc.MaxCallRecvMsgSize(64<<20), gogrpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func rawSession(t testing.TB, url string) mcpv1.Mcp_SessionClient {
	t.Helper()
	stream, err := mcpv1.NewMcpClient(rawConn(t, url)).Session(within(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func newTransport(t testing.TB, o Options) transport.Transport {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func connect(t testing.TB, o Options) transport.Conn {
	t.Helper()
	c, err := newTransport(t, o).Connect(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// within bounds a test's calls, so that a hanging one fails instead of blocking the run.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func send(t testing.TB, c transport.Conn, m *mcp.Message) {
	t.Helper()
	if err := c.Send(within(t, 10*time.Second), m); err != nil {
		t.Fatal(err)
	}
}

// answer sends a request and receives its answer, which has to be next.
func answer(t testing.TB, c transport.Conn, method, params string) *mcp.Message {
	t.Helper()
	send(t, c, mcp.Request("1", method, []byte(params)))
	m, err := c.Receive(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// B5: the one suite, over each kind of socket.
func TestSuite(t *testing.T) {
	t.Parallel()
	t.Run("TCP", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			return newTransport(t, Options{URL: serve(t, ServerOptions{Open: always(h)})})
		})
	})
	t.Run("Unix", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			l, url := listenUnix(t)
			run(t, NewServer(ServerOptions{Open: always(h)}), l)
			return newTransport(t, Options{URL: url})
		})
	})
}

// gate lets a test hold things up.
type gate struct {
	once sync.Once
	c    chan struct{}
}

func newGate() *gate { return &gate{c: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.c) }) }
