package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/mcp"
)

// O1: a legacy client shakes hands, lists, calls, and leaves; its session is one session in the log.
func TestLegacy(t *testing.T) {
	w := newWorld(t, Options{Instructions: "Be kind."})
	c := w.client(w.listen())
	want := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":false}},"serverInfo":{"name":"usher","version":"` + w.o.Info.Version + `"},"instructions":"Be kind."}}`
	if diff := cmp.Diff(want, c.hello().body); diff != "" {
		t.Error(diff)
	}
	if r := c.post(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); r.body != `{"jsonrpc":"2.0","id":"p","result":{}}` {
		t.Error(r.body)
	}
	tools := c.post(listTools).result(t)
	if !strings.Contains(string(tools), `{"name":"mcp__up__odd","inputSchema":{"type":"object"},"n":1.0}`) || strings.Contains(string(tools), "ttlMs") {
		t.Errorf("tools: %s", tools)
	}
	r := c.post(call("7", "echo", `{"id":"x"}`), "MCP-Protocol-Version: 2025-06-18")
	if !strings.HasPrefix(r.body, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"done x"}]`) || r.header.Get("Content-Type") != jsonType {
		t.Errorf("call: %v %s", r.header, r.body)
	}
	// case-116: what is wrong between usher and a server never becomes usher's own HTTP status.
	if r := c.post(call("8", "fail", `{}`)); r.status != http.StatusOK || r.code() != "-32001" {
		t.Errorf("a server's error: %d %s", r.status, r.body)
	}
	if r := c.delete(); r.status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", r.status, r.body)
	}
	if r := c.post(listTools); r.status != http.StatusNotFound || !strings.Contains(r.body, `"id":null`) {
		t.Errorf("after DELETE: %d %s", r.status, r.body)
	}
	names := w.log.sessions()
	if len(names) != 1 {
		t.Fatalf("sessions: %v", names)
	}
	types := w.log.Types(names[0])
	if types[0] != "session.started" || types[1] != "client.connected" || types[len(types)-2] != "client.disconnected" || types[len(types)-1] != "session.ended" {
		t.Error(types)
	}
	events := w.log.Events(names[0])
	if got := string(events[1].Data); got != `{"via":"http","name":"test","version":"1","era":"legacy"}` {
		t.Error(got)
	}
	if got := string(events[0].Data); got != `{"kind":"gateway","client":"test/1"}` {
		t.Error(got)
	}
}

func (c *client) delete(headers ...string) reply {
	c.t.Helper()
	req, _ := http.NewRequest(http.MethodDelete, c.url, nil)
	if c.session != "" {
		req.Header.Set(mcp.HeaderSession, c.session)
	}
	r, err := c.do(req, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// B8: a revision that usher doesn't speak is answered with the newest of the era.
func TestRevisions(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		r := c.post(strings.Replace(hello, "2025-06-18", asked, 1))
		if got := mcp.Text(mcp.Member(r.result(t), "protocolVersion")); got != want {
			t.Errorf("%q: %s", asked, got)
		}
	}
}

// O1, O4: a modern client needs no handshake; its connection is its session, whatever its requests say.
func TestModern(t *testing.T) {
	w := newWorld(t, Options{Instructions: "Be kind."})
	url := w.listen()
	c := w.client(url)
	server := `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"usher","version":"` + w.o.Info.Version + `"}}`
	want := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":false}},"instructions":"Be kind.","ttlMs":60000,"cacheScope":"private",` + server + `}`
	if diff := cmp.Diff(want, string(c.modern(mcp.MethodDiscover, "").result(t))); diff != "" {
		t.Error(diff)
	}
	tools := string(c.modern(mcp.MethodListTools, "").result(t))
	if !strings.HasSuffix(tools, `],"resultType":"complete","ttlMs":5000,"cacheScope":"private",`+server+`}`) {
		t.Error(tools)
	}
	called := string(c.modern(mcp.MethodCallTool, `"name":"mcp__up__echo","arguments":{"id":"m"}`).result(t))
	if called != `{"content":[{"type":"text","text":"done m"}],"resultType":"complete",`+server+`}` {
		t.Error(called)
	}
	// What the client's hop says is the hop's alone.
	if got := string(*w.up.params.Load()); strings.Contains(got, `"mod"`) {
		t.Errorf("the client's _meta reached the server: %s", got)
	}
	if other := w.client(url).modern(mcp.MethodListTools, ""); other.status != http.StatusOK {
		t.Error(other)
	}
	names := w.log.sessions()
	if len(names) != 2 {
		t.Fatalf("sessions: %v, want one for each connection", names)
	}
	if got := string(w.log.Events(names[0])[1].Data); got != `{"via":"http","name":"mod","version":"2","era":"modern"}` {
		t.Error(got)
	}
	c.http.CloseIdleConnections()
	eventually(t, "the session of the closed connection ends", func() bool {
		types := w.log.Types(names[0])
		return types[len(types)-1] == "session.ended"
	})
	if types := w.log.Types(names[1]); types[len(types)-1] == "session.ended" {
		t.Error("the other connection's session has ended too")
	}
}

// Without Attach each modern request is a session of its own.
func TestModernUnattached(t *testing.T) {
	w := newWorld(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: w.HTTP()}
	go s.Serve(l)
	t.Cleanup(func() { _ = s.Close() })
	c := w.client("http://" + l.Addr().String())
	c.modern(mcp.MethodListTools, "")
	c.modern(mcp.MethodListTools, "")
	names := w.log.sessions()
	if len(names) != 2 {
		t.Fatal(names)
	}
	eventually(t, "the second session's end", func() bool { // the answer may come before it
		types := w.log.Types(names[1])
		return types[len(types)-1] == "session.ended"
	})
}

// O2: what the server sent arrives byte for byte, but for what the modern era adds.
func TestFaithful(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	if got := string(c.post(call("1", "odd", `{}`)).result(t)); got != oddResult {
		t.Errorf("legacy\n%s\nwant\n%s", got, oddResult)
	}
	got := string(c.modern(mcp.MethodCallTool, `"name":"mcp__up__odd","arguments":{}`).result(t))
	if want := oddResult[:len(oddResult)-1] + `,"_meta":` + string(w.words.meta) + `}`; got != want {
		t.Errorf("modern\n%s\nwant\n%s", got, want)
	}
	args := `{"n":1.0,"big":9007199254740993,"s":"\u002F","é":[]}`
	c.post(call("2", "echo", args))
	if got := string(mcp.Member(*w.up.params.Load(), "arguments")); got != args {
		t.Errorf("arguments: %s", got)
	}
}

func TestComplete(t *testing.T) {
	words := newWords(Options{})
	for in, want := range map[string]string{
		`{}`:                               `{"resultType":"complete",` + `"_meta":` + string(words.meta) + `}`,
		"{ \n}":                            "{ \n" + `"resultType":"complete",` + `"_meta":` + string(words.meta) + `}`,
		`{"a":1.0, "resultType" : "task"}`: `{"a":1.0, "resultType" : "task","_meta":` + string(words.meta) + `}`,
		`{"_meta":{"x":1.0},"a":"}"}`:      `{"_meta":{"x":1.0,"io.modelcontextprotocol/serverInfo":` + string(words.server) + `},"a":"}","resultType":"complete"}`,
		`{"\u005fmeta":{"io.modelcontextprotocol/serverInfo":1}}`: `{"\u005fmeta":{"io.modelcontextprotocol/serverInfo":` + string(words.server) + `},"resultType":"complete"}`,
		`[{}]`: `[{}]`,
		``:     ``,
	} {
		if got := string(words.complete([]byte(in), false)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// S4: two clients with equal ids never see each other's replies.
func TestEqualIDs(t *testing.T) {
	w := newWorld(t, Options{})
	url := w.listen()
	done := make(chan error)
	for n := range 8 {
		c := w.client(url)
		if n%2 == 0 {
			c.hello()
		}
		go func() {
			for i := range 50 {
				want := fmt.Sprintf("c%d-%d", n, i)
				body, headers := call("1", "echo", `{"id":"`+want+`"}`), []string(nil)
				if n%2 == 1 {
					body, headers = modern(mcp.MethodCallTool, `"name":"mcp__up__echo","arguments":{"id":"`+want+`"}`)
				}
				r, err := c.send(context.Background(), body, headers...)
				if err == nil && !strings.Contains(r.body, `"done `+want+`"`) {
					err = fmt.Errorf("%s got %s", want, r.body)
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := receive(t, done); err != nil {
			t.Error(err)
		}
	}
}

// flushed calls then when the first answer is on its way, while its handler hasn't returned.
type flushed struct {
	http.ResponseWriter
	then func()
}

func (f flushed) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f flushed) Flush() {
	f.ResponseWriter.(http.Flusher).Flush()
	f.then()
}

// S4: a client that has an answer may take the request's id again, over any of its connections.
func TestIDAgain(t *testing.T) {
	w := newWorld(t, Options{})
	var armed atomic.Bool
	again := make(chan struct{})
	defer close(again)
	url := newHTTP(t, func(out http.ResponseWriter, r *http.Request) {
		if armed.CompareAndSwap(true, false) {
			out = flushed{out, func() { <-again }}
		}
		w.HTTP().ServeHTTP(out, r)
	})
	c := w.client(url)
	c.hello()
	armed.Store(true)
	c.post(listTools).result(t)
	other := w.client(url) // a connection on which no handler is busy
	other.session = c.session
	other.post(listTools).result(t)
}

// H5: a log that fails refuses, and says so.
func TestLogFails(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	w.log.Fail(io.ErrShortWrite, io.ErrShortWrite)
	if r := c.post(listTools); r.code() != "-32603" || !strings.Contains(r.body, "event log") {
		t.Error(r.body)
	}
	w.log.Fail(nil, nil)
	c.post(listTools).result(t)
}

// A5: a bug on the way fails one request.
func TestHandle(t *testing.T) {
	for name, h := range map[string]mcp.HandlerFunc{
		"panic":   func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { panic("boom") },
		"nothing": func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return nil, nil },
		"error":   func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return nil, io.EOF },
	} {
		m := handle(t.Context(), h, mcp.Request("7", mcp.MethodPing, nil), mcp.Nobody)
		if m.ID != "7" || m.Err() == nil || m.Err().Code != mcp.CodeInternal || strings.Contains(string(m.Error), "boom") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// A client that sends half a request harms nobody.
func TestHalfRequest(t *testing.T) {
	w := newWorld(t, Options{})
	url := w.listen()
	conn, err := net.Dial("tcp", strings.Split(url, "/")[2])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", conn.RemoteAddr())
	_ = conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		_ = resp.Body.Close()
	}
	c := w.client(url)
	c.hello()
	c.post(listTools).result(t)
}
