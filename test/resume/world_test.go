package resume

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
	transporthttp "github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// world is a server, a network and a client that has shaken hands before anything fails.
type world struct {
	net     *transporttest.FaultNet
	http    *http.Server
	done    chan error
	way     *http.Transport
	session *client.Session
	server  *sdk.Server

	mu      sync.Mutex
	ran     map[string]int
	resumes int
	said    []string // by the server, outside of calls
	heard   []string // of that
}

func newWorld(t *testing.T) *world {
	w := &world{net: transporttest.NewFaultNet(), done: make(chan error, 1), ran: map[string]int{}}
	w.server = sdk.NewServer(&sdk.Implementation{Name: "counter", Version: "1"}, &sdk.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	sdk.AddTool(w.server, &sdk.Tool{Name: "count"}, w.count)
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return w.server }, &sdk.StreamableHTTPOptions{
		EventStore: sdk.NewMemoryEventStore(nil), Logger: slog.New(slog.DiscardHandler),
	})
	w.http = &http.Server{Handler: w.counting(h), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { w.done <- w.http.Serve(w.net) }()
	w.way = &http.Transport{DialContext: w.net.Dial}
	tr, err := transporthttp.New(transporthttp.Options{URL: "http://192.0.2.1/mcp", Client: &http.Client{Transport: w.way}})
	if err != nil {
		t.Fatal(err)
	}
	w.session, err = client.Connect(t.Context(), tr, client.Options{OnNotify: w.told})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.session.Handle(t.Context(), mcp.Request("1", "logging/setLevel", []byte(`{"level":"debug"}`)), nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// close ends all, on a network that works.
func (w *world) close() {
	w.net.Plan(func(int) transporttest.Fault { return transporttest.Fault{} })
	_ = w.session.Close()
	w.way.CloseIdleConnections()
	for s := range w.server.Sessions() {
		_ = s.Close()
	}
	w.net.Break(transporttest.Reset)
	_ = w.http.Close()
	<-w.done
}

// counting sees how often a stream is resumed.
func (w *world) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") != "" {
			w.mu.Lock()
			w.resumes++
			w.mu.Unlock()
		}
		next.ServeHTTP(rw, r)
	})
}

type countArgs struct {
	Name string `json:"name"`
	Seed uint64 `json:"seed"`
}

// count tells of its progress and logs, in turns, and says something outside of its call now and then.
func (w *world) count(ctx context.Context, r *sdk.CallToolRequest, a countArgs) (*sdk.CallToolResult, any, error) {
	w.mu.Lock()
	w.ran[a.Name]++
	w.mu.Unlock()
	rnd := rand.New(rand.NewPCG(a.Seed, 7))
	for i := range reports {
		time.Sleep(time.Duration(rnd.IntN(3)*rnd.IntN(2000)) * time.Millisecond)
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: line("progress", a.Name, i),
		})
		writeLog(ctx, r.Session, line("log", a.Name, i))
		if rnd.IntN(6) == 0 {
			w.say(r.Session)
		}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done " + a.Name}}}, nil, nil
}

// say says something on the standalone stream.
func (w *world) say(s *sdk.ServerSession) {
	w.mu.Lock()
	defer w.mu.Unlock() // so that what is said has an order
	text := fmt.Sprintf("unasked %d", len(w.said))
	w.said = append(w.said, text)
	writeLog(context.Background(), s, text)
}

// writeLog sends a log message on the stream of the call that ctx belongs to, else on the standalone one.
func writeLog(ctx context.Context, s *sdk.ServerSession, text string) {
	//lint:ignore SA1019 the revisions whose streams can be resumed have it
	_ = s.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: text})
}

// told hears what belongs to no call.
func (w *world) told(m *mcp.Message) {
	if m.Method != mcp.NotifyMessage {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, mcp.Text(mcp.Member(m.Params, "data")))
}

func (w *world) unasked() (said, heard []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said), slices.Clone(w.heard)
}

func (w *world) runs(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran[name]
}

func (w *world) resumed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resumes
}

// result is what one caller got.
type result struct {
	name, answer string
	err          error
	heard        []string
}

// callAll calls from several goroutines at once.
func (w *world) callAll(t *testing.T, seed uint64) (all []result) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for k := range each {
				r := w.call(t.Context(), fmt.Sprintf("%d.%d", i, k), seed*1000+uint64(i*each+k))
				mu.Lock()
				all = append(all, r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all
}

func (w *world) call(ctx context.Context, name string, seed uint64) result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	params := fmt.Sprintf(`{"name":"count","arguments":{"name":%q,"seed":%d},"_meta":{"progressToken":%q}}`, name, seed, name)
	l := &listener{token: name}
	m, err := w.session.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, json.RawMessage(params)), l)
	r := result{name: name, err: err, heard: l.lines()}
	if err == nil {
		for c := range mcp.Elements(mcp.Member(m.Result, "content")) {
			r.answer += mcp.Text(mcp.Member(c, "text"))
		}
	}
	return r
}

// listener hears what belongs to one call.
type listener struct {
	token string
	mu    sync.Mutex
	heard []string
}

func (l *listener) Notify(_ context.Context, m *mcp.Message) {
	text := m.Method
	switch m.Method {
	case mcp.NotifyProgress:
		text = mcp.Text(mcp.Member(m.Params, "message"))
		if token := mcp.Text(mcp.Member(m.Params, mcp.MetaProgress)); token != l.token {
			text += " for " + token
		}
	case mcp.NotifyMessage:
		text = mcp.Text(mcp.Member(m.Params, "data"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, text)
}

func (l *listener) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

func (l *listener) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}
