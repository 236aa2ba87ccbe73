package http

import (
	"context"
	"fmt"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h on a real socket until the test ends.
func serve(t testing.TB, h nethttp.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handlers that panic on purpose
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// connect opens a connection that is closed before the servers of the test are.
func connect(t testing.TB, o Options) *conn {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*conn)
}

// within bounds a test's calls, so that a hanging one fails instead of blocking the run.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func call(id int64) *mcp.Message {
	return mcp.Request(mcp.IntID(id), mcp.MethodCallTool, []byte(`{"name":"echo"}`))
}

// readMessage parses the body of a request.
func readMessage(r *nethttp.Request) *mcp.Message {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return &mcp.Message{Method: "unreadable"}
	}
	m, err := mcp.Parse(b)
	if err != nil {
		return &mcp.Message{Method: "broken: " + string(b)}
	}
	return m
}

func writeJSON(w nethttp.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func writeAnswer(w nethttp.ResponseWriter, m *mcp.Message) {
	writeJSON(w, 200, string(mcp.Answer(m.ID, []byte(`{"ok":true}`)).AppendTo(nil)))
}

// startEvents begins a stream and returns what sends one message on it.
func startEvents(w nethttp.ResponseWriter) func(body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(200)
	_ = nethttp.NewResponseController(w).Flush()
	return func(body string) {
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", body)
		_ = nethttp.NewResponseController(w).Flush()
	}
}

func answerText(id mcp.ID) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"ok":true}}`
}

// peer records what it is told, and answers with reply.
type peer struct {
	mu    sync.Mutex
	told  []string
	reply func(context.Context, *mcp.Message) (*mcp.Message, error)
}

func (p *peer) Notify(_ context.Context, m *mcp.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, m.Method+string(m.Params))
}

func (p *peer) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return p.reply(ctx, m)
}

func (p *peer) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.told...)
}
