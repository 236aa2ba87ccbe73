package sse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// opened is a stream as a raw client sees it.
type opened struct {
	t    *testing.T
	res  *nethttp.Response
	in   *bufio.Reader
	post string // the address for messages
}

func open(t *testing.T, url string) *opened {
	t.Helper()
	r, err := nethttp.NewRequestWithContext(bounded(t), nethttp.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := nethttp.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{t: t, res: res, in: bufio.NewReader(res.Body)}
	t.Cleanup(o.close)
	o.expect("event: endpoint")
	at := strings.TrimPrefix(o.line(), "data: ")
	o.expect("")
	u, err := r.URL.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	o.post = u.String()
	return o
}

func (o *opened) close() {
	_ = o.res.Body.Close()
	nethttp.DefaultClient.CloseIdleConnections()
}

func (o *opened) line() string {
	o.t.Helper()
	s, err := o.in.ReadString('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.TrimSuffix(s, "\n")
}

func (o *opened) expect(want string) {
	o.t.Helper()
	if got := o.line(); got != want {
		o.t.Fatalf("got %q, want %q", got, want)
	}
}

// message reads one message event.
func (o *opened) message() string {
	o.t.Helper()
	o.expect("event: message")
	m := strings.TrimPrefix(o.line(), "data: ")
	o.expect("")
	return m
}

// send posts body and returns the status and what was said.
func send(t *testing.T, url, kind, body string) (int, string) {
	t.Helper()
	res, err := nethttp.Post(url, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const jsonType = "application/json"

func (o *opened) send(body string) {
	o.t.Helper()
	if status, text := send(o.t, o.post, jsonType, body); status != 202 || text != "" {
		o.t.Fatalf("%.80s was answered with %d %s", body, status, text)
	}
}

func TestServerStream(t *testing.T) { // B3
	_, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, nil)
	o := open(t, at.URL+"/mcp/sse?key=1")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := o.res.Header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	other := open(t, at.URL+"/mcp/sse?key=1")
	if prefix := at.URL + "/mcp/sse?key=1&sessionId="; !strings.HasPrefix(o.post, prefix) || len(o.post) < len(prefix)+26 || o.post == other.post {
		t.Errorf("messages go to %s and %s", o.post, other.post)
	}
	o.send("{\n \"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"echo\", \"params\": {\n\"a\":\r\n1.0}}")
	if got := o.message(); got != `{"jsonrpc":"2.0","id":7,"result":{ "a":  1.0}}` {
		t.Error(got)
	}
	o.send(`[{"jsonrpc":"2.0","id":8,"method":"echo"},{"jsonrpc":"2.0","id":8,"result":{}}]`)
	if got := o.message(); got != `{"jsonrpc":"2.0","id":8,"result":{}}` {
		t.Error(got)
	}
}

func TestEndpointPath(t *testing.T) {
	for target, want := range map[string]string{
		"/sse": "/sse?sessionId=x", "//b.example/sse": "/b.example/sse?sessionId=x", "/a%2Fb?q=%20": "/a%2Fb?q=%20&sessionId=x",
		"http://b.example/sse": "/sse?sessionId=x",
	} {
		r := httptest.NewRequest(nethttp.MethodGet, target, nil)
		r.URL.Path = "/stripped"
		if got := endpoint(r, "x"); got != want {
			t.Errorf("%s: %s", target, got)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	_, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo(), MaxSessions: 1}, nil)
	o := open(t, at.URL)
	const good = `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	for name, x := range map[string]struct {
		url, kind, body string
		status          int
	}{
		"no session":      {at.URL, jsonType, good, 400},
		"unknown session": {at.URL + "?sessionId=x", jsonType, good, 404},
		"form":            {o.post, "text/plain", good, 415},
		"no JSON":         {o.post, jsonType, "hello", 400},
		"nothing":         {o.post, jsonType, "", 400},
		"too long":        {o.post, jsonType, `{"a":"` + strings.Repeat("x", mcp.MaxMessage) + `"}`, 413},
	} {
		if status, text := send(t, x.url, x.kind, x.body); status != x.status || text == "" {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	r, _ := nethttp.NewRequest(nethttp.MethodDelete, o.post, nil)
	if res, err := nethttp.DefaultClient.Do(r); err != nil || res.StatusCode != 405 || res.Header.Get("Allow") != "GET, POST" {
		t.Errorf("DELETE: %v, %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	if res, err := nethttp.Get(at.URL); err != nil || res.StatusCode != 503 {
		t.Errorf("one session too many: %v, %v", res, err)
	} else {
		_ = res.Body.Close()
	}
	o.send(`{"jsonrpc":"2.0","id":5,"method":"echo","params":{"a":1,"a":2}}`)
	if got := o.message(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,`) {
		t.Error(got)
	}
	o.send(good)
	if got := o.message(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
}

// What the server asks is an event, and the answer a post; one that can't be read fails the question.
func TestServerAsks(t *testing.T) {
	_, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, nil)
	o := open(t, at.URL)
	for answer, want := range map[string]string{
		`"result":{"roots":[]}`:    `"result":{"roots":[]}`,
		`"result":{"a":1,"a":[2]}`: `"error":{"code":-32603,"message":"the client's answer can't be read`,
	} {
		o.send(`{"jsonrpc":"2.0","id":1,"method":"ask","params":{"method":"roots/list"}}`)
		asked, err := mcp.Parse([]byte(o.message()))
		if err != nil || asked.Method != "roots/list" {
			t.Fatalf("asked %+v, %v", asked, err)
		}
		o.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,` + answer + `}`)
		if got := o.message(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`+want) {
			t.Errorf("%s became %s", answer, got)
		}
	}
}

// hanging is a handler whose requests run until they are cancelled.
type hanging struct{ began, ended chan error }

func (h hanging) Handle(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	h.began <- nil
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	return nil, ctx.Err()
}

// The end of the stream is the end of its session and of its calls, from whichever side it comes.
func TestServerSessionEnds(t *testing.T) {
	for name, end := range map[string]func(*Server, *opened){
		"client": func(_ *Server, o *opened) { o.close() },
		"server": func(s *Server, _ *opened) { _ = s.Close() },
	} {
		h := hanging{make(chan error), make(chan error, 1)}
		over := make(chan context.Context, 1)
		s, at := serveMCP(t, ServerOptions{MaxSessions: 1, Session: func(ctx context.Context, r *nethttp.Request) (mcp.Handler, func()) {
			if r.URL.Path != "/sse" {
				return nil, func() { over <- ctx }
			}
			return h, func() { over <- ctx }
		}}, nil)
		if res, err := nethttp.Get(at.URL + "/other"); err != nil || res.StatusCode != 503 || (<-over).Err() == nil {
			t.Errorf("%s: the session that isn't to be: %v, %v", name, res, err)
		} else {
			_ = res.Body.Close()
		}
		o := open(t, at.URL+"/sse")
		o.send(`{"jsonrpc":"2.0","id":1,"method":"hang"}`)
		<-h.began
		end(s, o)
		<-h.ended
		if ctx := <-over; ctx.Err() == nil {
			t.Errorf("%s: the session's context lives on", name)
		}
		for status := 202; status != 404; {
			status, _ = send(t, o.post, jsonType, `{"jsonrpc":"2.0","id":2,"method":"hang"}`)
		}
		if name == "server" {
			if _, err := o.in.ReadString('\n'); err != nil && err != io.EOF {
				t.Errorf("the stream ended with %v", err)
			}
			if _, err := newTransport(t, Options{URL: at.URL + "/sse"}).Connect(bounded(t)); err == nil {
				t.Error("a closed server opens a session")
			}
			continue
		}
		for { // the place is free again, soon
			c, err := newTransport(t, Options{URL: at.URL + "/sse"}).Connect(bounded(t))
			if err == nil {
				_ = c.Close()
				break
			}
		}
	}
}

func TestServerCloseEndsClientInOrder(t *testing.T) {
	s, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, nil)
	c := connect(t, at.URL)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := c.Receive(bounded(t)); err != io.EOF {
		t.Errorf("Receive returned %v", err)
	}
}

func TestServerKeepsAlive(t *testing.T) {
	_, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, func(s *Server) { s.keepAlive = 10 * time.Millisecond })
	o := open(t, at.URL)
	for range 2 {
		o.expect(": keep-alive")
		o.expect("")
	}
}

// A client that takes nothing is ended, and holds up nobody meanwhile.
func TestServerEndsSlowClient(t *testing.T) {
	var handled atomic.Int32
	ended := make(chan error, 1)
	h := mcp.HandlerFunc(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		for i := range 5000 { // more than may wait
			p.Notify(ctx, mcp.Notification("notifications/test", fmt.Appendf(nil, `{"n":%d,"text":"%0500d"}`, i, i)))
		}
		handled.Add(1)
		return mcp.Answer(m.ID, []byte(`"`+strings.Repeat("0", 12<<20)+`"`)), nil // more than all buffers hold
	})
	session := func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return h, func() { ended <- nil } }
	_, at := serveMCP(t, ServerOptions{Session: session}, func(s *Server) { s.stall = 200 * time.Millisecond })
	raw, err := net.Dial("tcp", at.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil { // the system would let it grow to hold all
		t.Fatal(err)
	}
	_, _ = io.WriteString(raw, "GET /sse HTTP/1.1\r\nHost: "+at.Listener.Addr().String()+"\r\n\r\n")
	in := bufio.NewReader(raw)
	var post string
	for post == "" {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := strings.CutPrefix(line, "data: "); ok {
			post = strings.TrimSpace(at)
		}
	}
	for i := range 3 {
		if status, text := send(t, at.URL+post, jsonType, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"much"}`, i)); status != 202 {
			t.Fatal(status, text)
		}
	}
	select {
	case <-ended:
	case <-bounded(t).Done():
		t.Fatal("the session goes on")
	}
	if n := handled.Load(); n != 3 {
		t.Errorf("%d of 3 handlers came to their end", n)
	}
	if status, _ := send(t, at.URL+post, jsonType, `{"jsonrpc":"2.0","method":"x"}`); status != 404 {
		t.Errorf("a message to the session that has ended: %d", status)
	}
}
