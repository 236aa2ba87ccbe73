package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// upstream is a modern server in this process. It keeps what reached it.
type upstream struct {
	started   chan string   // the id argument of each call of wait, when it runs
	release   chan struct{} // ends a call of wait
	cancelled chan string   // the id argument of each call of wait that was cancelled
	params    atomic.Pointer[json.RawMessage]
	extra     atomic.Bool // lists one tool more
}

// oddResult is full of what an encoder would change.
const oddResult = `{"content":[{"type":"text","text":"a\u002Fb\/c é","x":{"b":1.0,"a":9007199254740993}}],"resultType":"complete","z":1e2, "structuredContent" : [1.50,-0]}`

const upTools = `{"name":"echo","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object"},"n":1.0},` +
	`{"name":"wait","inputSchema":{"type":"object"}},{"name":"steps","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"grow","inputSchema":{"type":"object"}},` +
	`{"name":"naïve","inputSchema":{"type":"object"}}`

func (u *upstream) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case mcp.MethodDiscover:
		return mcp.Answer(req.ID, json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)), nil
	case mcp.MethodListTools:
		tools := upTools
		if u.extra.Load() {
			tools += `,{"name":"late","inputSchema":{"type":"object"}}`
		}
		return mcp.Answer(req.ID, json.RawMessage(`{"resultType":"complete","tools":[`+tools+`]}`)), nil
	case mcp.MethodCallTool:
		params := bytes.Clone(req.Params)
		u.params.Store((*json.RawMessage)(&params))
		return u.call(ctx, req, p)
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no", nil), nil
}

func (u *upstream) call(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	id := mcp.Text(mcp.Path(req.Params, "arguments", "id"))
	switch mcp.Text(mcp.Member(req.Params, "name")) {
	case "odd":
		return mcp.Answer(req.ID, json.RawMessage(oddResult)), nil
	case "fail":
		return mcp.ErrorAnswer(req.ID, -32001, "the server says no", nil), nil
	case "steps":
		for i := range 3 {
			params := `{"progressToken":` + string(mcp.Path(req.Params, "_meta", mcp.MetaProgress)) + `,"progress":` + string(rune('1'+i)) + `}`
			p.Notify(ctx, mcp.Notification(mcp.NotifyProgress, json.RawMessage(params)))
			p.Notify(ctx, mcp.Notification(mcp.NotifyMessage, json.RawMessage(`{"level":"error","data":"not asked for"}`)))
		}
	case "grow":
		u.extra.Store(true)
		p.Notify(ctx, mcp.Notification(mcp.NotifyTools, nil))
	case "wait":
		u.started <- id
		select {
		case <-u.release:
		case <-ctx.Done():
			u.cancelled <- id
			return nil, ctx.Err()
		}
	}
	return mcp.Answer(req.ID, mcp.SetMember(mcp.TextResult("done "+id, false), "resultType", mcp.Quote("complete"))), nil
}

// record is a log that can say which sessions there were.
type record struct {
	eventtest.Log
	mu    sync.Mutex
	names []string

	forget  bool // only encodes, as the real log does: for benchmarks
	scratch bytes.Buffer
}

func (r *record) Append(ctx context.Context, session string, data ...event.Data) (event.Mark, error) {
	if r.forget {
		return r.encode(data)
	}
	mark, err := r.Log.Append(ctx, session, data...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range data {
		if d.Type() == "session.started" && err == nil {
			r.names = append(r.names, session)
		}
	}
	return mark, err
}

func (r *record) encode(data []event.Data) (event.Mark, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scratch.Reset()
	for _, d := range data {
		if err := event.Encode(&r.scratch, d); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

// sessions are the names of the sessions so far, in the order in which they began.
func (r *record) sessions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.names...)
}

// world is a gateway in front of a host with the server "up".
type world struct {
	*Gateway
	t   testing.TB
	up  *upstream
	log *record
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	w := &world{t: t, log: new(record), up: &upstream{
		started: make(chan string, 100), release: make(chan struct{}), cancelled: make(chan string, 100),
	}}
	policy := &permission.Policy{Allow: []permission.Rule{{Pattern: "mcp.up.*"}}}
	h, err := usher.Open(context.Background(), usher.Options{
		Servers: []usher.Server{{Name: "up", Transport: local.New(w.up), Kind: "local"}}, Log: w.log,
		Policy: func() *permission.Policy { return policy },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Ready(context.Background())
	w.Gateway = New(h, o)
	t.Cleanup(func() {
		w.Close()
		_ = h.Close()
	})
	return w
}

// listen serves over a real port and returns the URL.
func (w *world) listen() string {
	w.t.Helper()
	s := httptest.NewUnstartedServer(w.HTTP())
	w.Attach(s.Config)
	s.Start()
	w.t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// client is a client with connections of its own.
type client struct {
	t       testing.TB
	url     string
	http    *http.Client
	session string
}

func (w *world) client(url string) *client {
	tr := &http.Transport{}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &client{t: w.t, url: url, http: &http.Client{Transport: tr}}
}

// reply is an HTTP answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// code is that of the JSON-RPC error in the body; 0 if there is none.
func (r reply) code() string { return string(mcp.Path([]byte(r.body), "error", "code")) }

func (r reply) result(t testing.TB) json.RawMessage {
	t.Helper()
	result := mcp.Member([]byte(r.body), "result")
	if r.status != http.StatusOK || result == nil {
		t.Fatalf("no result: %d %s", r.status, r.body)
	}
	return result
}

// send posts a body; headers are "Name: value", a value that is empty removes the header.
func (c *client) send(ctx context.Context, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set(mcp.HeaderSession, c.session)
	}
	return c.do(req, headers...)
}

func (c *client) do(req *http.Request, headers ...string) (reply, error) {
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

func (c *client) post(body string, headers ...string) reply {
	c.t.Helper()
	r, err := c.send(context.Background(), body, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

const (
	hello     = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"te\u001bst","version":"1"}}}`
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	meta      = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mod","version":"2"}}`
)

// hello shakes hands in the legacy way.
func (c *client) hello() reply {
	c.t.Helper()
	r := c.post(hello)
	if c.session = r.header.Get(mcp.HeaderSession); r.status != http.StatusOK || c.session == "" {
		c.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	if r := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != http.StatusAccepted {
		c.t.Fatalf("initialized: %d %s", r.status, r.body)
	}
	return r
}

// call is a legacy tools/call.
func call(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"mcp__up__` + tool + `","arguments":` + args + `}}`
}

// modern makes a modern request and its headers. params are members, without braces.
func modern(method, params string) (string, []string) {
	name := mcp.Text(mcp.Member([]byte("{"+params+"}"), "name"))
	if params != "" {
		params += ","
	}
	headers := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		headers = append(headers, "Mcp-Name: "+name)
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`, headers
}

func (c *client) modern(method, params string) reply {
	c.t.Helper()
	body, headers := modern(method, params)
	return c.post(body, headers...)
}

// receive waits for a value.
func receive[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
		<-time.After(time.Millisecond)
	}
}
