package ws

import (
	"context"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen runs h on a real socket until the test ends.
func listen(t testing.TB, h nethttp.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handlers that panic on purpose
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// serve runs a Server of h until the test ends and returns its URL.
func serve(t testing.TB, h mcp.Handler, o ServerOptions) string {
	t.Helper()
	url, _ := serveWith(t, h, o)
	return url
}

func serveWith(t testing.TB, h mcp.Handler, o ServerOptions) (string, *Server) {
	t.Helper()
	if o.Open == nil {
		o.Open = func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return h, nil }
	}
	s := NewServer(o)
	l := listen(t, s)
	t.Cleanup(func() { _ = s.Close() })
	return "ws" + strings.TrimPrefix(l.URL, "http"), s
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
	c, err := newTransport(t, o).Connect(t.Context())
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

// raw opens a WebSocket without the code under test.
func raw(t testing.TB, url string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(within(t, 10*time.Second), url, o)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// peer runs f as the server of one connection, without the code under test. It returns the URL.
func peer(t testing.TB, o *websocket.AcceptOptions, f func(ctx context.Context, c *websocket.Conn)) string {
	t.Helper()
	var h nethttp.HandlerFunc = func(w nethttp.ResponseWriter, r *nethttp.Request) {
		c, err := websocket.Accept(w, r, o)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(-1)
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		f(ctx, c)
	}
	return "ws" + strings.TrimPrefix(listen(t, h).URL, "http")
}

func write(t testing.TB, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(within(t, 10*time.Second), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, c *websocket.Conn) string {
	t.Helper()
	kind, b, err := c.Read(within(t, 10*time.Second))
	if err != nil || kind != websocket.MessageText {
		t.Fatalf("read %v %.100s, %v", kind, b, err)
	}
	return string(b)
}

// closeCode reads until the connection ends.
func closeCode(t testing.TB, c *websocket.Conn) websocket.StatusCode {
	t.Helper()
	for {
		if _, _, err := c.Read(within(t, 10*time.Second)); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// B4
func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
		return newTransport(t, Options{URL: serve(t, h, ServerOptions{})})
	})
}
