package sse

import (
	"context"
	"fmt"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h on a real socket until the test ends.
func serve(t testing.TB, h nethttp.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// serveMCP runs a server end. adjust, if not nil, changes it before it serves.
func serveMCP(t testing.TB, o ServerOptions, adjust func(*Server)) (*Server, *httptest.Server) {
	t.Helper()
	s := NewServer(o)
	if adjust != nil {
		adjust(s)
	}
	at := serve(t, s)
	t.Cleanup(func() { _ = s.Close() })
	return s, at
}

// scripted is a server that says what say says, answers each POST with status, and hands the bodies on.
type scripted struct {
	say    func(w io.Writer, r *nethttp.Request)
	status int
	posted chan string
}

func (s *scripted) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method == nethttp.MethodPost {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, "Accepted")
		if s.posted != nil {
			s.posted <- string(b)
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(200)
	s.say(flushed{w}, r)
}

// flushed sends all that is written to it at once.
type flushed struct{ w nethttp.ResponseWriter }

func (f flushed) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	_ = nethttp.NewResponseController(f.w).Flush()
	return n, err
}

// says makes a script that says text and then keeps the stream open.
func says(text string) func(io.Writer, *nethttp.Request) {
	return func(w io.Writer, r *nethttp.Request) {
		_, _ = io.WriteString(w, text)
		<-r.Context().Done()
	}
}

const endpointEvent = "event: endpoint\ndata: /messages?sessionId=s3cret\n\n"

func newTransport(t testing.TB, o Options) transport.Transport {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// connect opens a connection that is closed before the servers of the test are.
func connect(t testing.TB, url string) *conn {
	t.Helper()
	c, err := newTransport(t, Options{URL: url}).Connect(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*conn)
}

// bounded limits a test's calls, so that a hanging one fails instead of blocking the run.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func request(id int64, method string, n int) *mcp.Message {
	return mcp.Request(mcp.IntID(id), method, fmt.Appendf(nil, `{"n":%d}`, n))
}
