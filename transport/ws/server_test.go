package ws

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// upgrade asks for a WebSocket and returns the answer, whose body is closed.
func upgrade(t *testing.T, target string, header nethttp.Header) *nethttp.Response {
	t.Helper()
	r, err := nethttp.NewRequestWithContext(within(t, 5*time.Second), "GET", strings.Replace(target, "ws:", "http:", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = nethttp.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Host = header.Get("Host")
	tr := new(nethttp.Transport)
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// S2: whose page it is that connects; and the subprotocols.
func TestUpgrade(t *testing.T) {
	target := serve(t, transporttest.Echo(), ServerOptions{})
	u, _ := url.Parse(target)
	for name, c := range map[string]struct {
		header nethttp.Header
		status int
		chosen string
	}{
		"no page":             {nil, 101, ""},
		"same origin":         {nethttp.Header{"Origin": {"http://" + u.Host}}, 101, ""},
		"other origin":        {nethttp.Header{"Origin": {"http://evil.example"}}, 403, ""},
		"other port":          {nethttp.Header{"Origin": {"http://127.0.0.1:1"}}, 403, ""},
		"rebound name":        {nethttp.Header{"Origin": {"http://evil.example:" + u.Port()}, "Host": {"evil.example:" + u.Port()}}, 403, ""},
		"null":                {nethttp.Header{"Origin": {"null"}}, 403, ""},
		"empty":               {nethttp.Header{"Origin": {""}}, 403, ""},
		"two":                 {nethttp.Header{"Origin": {"http://" + u.Host, "http://evil.example"}}, 403, ""},
		"cross-site":          {nethttp.Header{"Origin": {"http://" + u.Host}, "Sec-Fetch-Site": {"cross-site"}}, 403, ""},
		"other scheme":        {nethttp.Header{"Origin": {"chrome-extension://" + u.Host}}, 403, ""},
		"ours":                {nethttp.Header{"Sec-Websocket-Protocol": {"mcp"}}, 101, "mcp"},
		"ours among others":   {nethttp.Header{"Sec-Websocket-Protocol": {"soap, mcp"}}, 101, "mcp"},
		"ours in another one": {nethttp.Header{"Sec-Websocket-Protocol": {"soap", "mcp"}}, 101, "mcp"},
		"only others":         {nethttp.Header{"Sec-Websocket-Protocol": {"soap"}}, 400, ""},
		"no WebSocket":        {nethttp.Header{"Upgrade": {"h2c"}}, 426, ""},
		"old version":         {nethttp.Header{"Sec-Websocket-Version": {"8"}}, 400, ""},
	} {
		res := upgrade(t, target, c.header)
		if res.StatusCode != c.status || res.Header.Get("Sec-WebSocket-Protocol") != c.chosen {
			t.Errorf("%s: status %d, subprotocol %q", name, res.StatusCode, res.Header.Get("Sec-WebSocket-Protocol"))
		}
	}
}

func TestMaxConnections(t *testing.T) {
	target := serve(t, transporttest.Echo(), ServerOptions{MaxConnections: 1})
	c := raw(t, target, nil)
	write(t, c, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	read(t, c)
	if res := upgrade(t, target, nil); res.StatusCode != 503 {
		t.Errorf("the second got %d", res.StatusCode)
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
	for ctx := within(t, 5*time.Second); ; { // the server may need a moment to see it
		res := upgrade(t, target, nil)
		if res.StatusCode == 101 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("after the first has left: %d", res.StatusCode)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}`: `"id":7,"error":{"code":-32600,`,
		`{"jsonrpc":"1.0","id":7,"method":"x"}`:                        `"id":7,"error":{"code":-32600,`,
		`hello`:                                                        `"id":null,"error":{"code":-32700,`,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}":           `"error":{"code":-32`,
		`{"jsonrpc":"2.0"}`:                                            `"id":null,"error":{"code":-32600,`,
		`[]`:                                                           `"id":null,"error":{"code":-32600,`,
	} {
		write(t, c, in)
		if got := read(t, c); !strings.Contains(got, want) {
			t.Errorf("%.80s was answered with %s", in, got)
		}
	}
	write(t, c, "")
	write(t, c, "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":\"on\",\"method\":\"echo\"}")
	if got := read(t, c); got != `{"jsonrpc":"2.0","id":"on","result":{}}` {
		t.Errorf("got %s", got)
	}
}

// A batch (2025-03-26) is answered message by message.
func TestServerBatch(t *testing.T) {
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	write(t, c, `[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"echo"}]`)
	got := []string{read(t, c), read(t, c)}
	slices.Sort(got)
	if got[0] != `{"jsonrpc":"2.0","id":1,"result":{}}` || got[1] != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("got %s", got)
	}
}

// O3: a question of the server finds its answer; a cancelled request gets none.
func TestServerAsksAndCancels(t *testing.T) {
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	write(t, c, `{"jsonrpc":"2.0","id":1,"method":"ask","params":{"method":"roots/list"}}`)
	if got := read(t, c); got != `{"jsonrpc":"2.0","id":"usher-1","method":"roots/list"}` {
		t.Fatalf("got %s", got)
	}
	write(t, c, `{"jsonrpc":"2.0","id":"usher-1","result":{"roots":[]}}`)
	if got := read(t, c); got != `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}` {
		t.Fatalf("got %s", got)
	}
	write(t, c, `{"jsonrpc":"2.0","id":2,"method":"slow","params":{"key":"k"}}`)
	read(t, c)
	write(t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	write(t, c, `{"jsonrpc":"2.0","id":3,"method":"ended","params":{"key":"k"}}`)
	if got := read(t, c); got != `{"jsonrpc":"2.0","id":3,"result":{}}` {
		t.Errorf("got %s", got)
	}
}

func TestBinaryFromClient(t *testing.T) {
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	if err := c.Write(within(t, 5*time.Second), websocket.MessageBinary, []byte(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)); err != nil {
		t.Fatal(err)
	}
	if got := closeCode(t, c); got != websocket.StatusUnsupportedData {
		t.Errorf("closed with %v", got)
	}
}

// A client that promises more than it sends can't hold up the end.
func TestServerEndIsBounded(t *testing.T) {
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		target, s := serveWith(t, transporttest.Echo(), ServerOptions{})
		c := raw(t, target, nil)
		w, err := c.Writer(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(`{"never":`)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = s.Close()
		if took := time.Since(start); took > 4*handshakeGrace {
			t.Errorf("%v: Close took %v", kind, took)
		}
	}
}

// The request that is too long is answered before the connection closes with 1009.
func TestTooLongFromClient(t *testing.T) {
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	write(t, c, `{"jsonrpc":"2.0","method":"echo","params":{"t":"`+strings.Repeat("x", 17<<20)+`"},"id":7}`)
	if got := read(t, c); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,`) {
		t.Errorf("got %s", got)
	}
	if got := closeCode(t, c); got != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v", got)
	}
}

// A5: what all clients send at once is bounded, also before it is a message; one that is answered is given back.
func TestAllClientsAreBounded(t *testing.T) {
	target, s := serveWith(t, transporttest.Echo(), ServerOptions{})
	const others = 1<<30 - 128<<10
	s.held.Store(others)
	c := raw(t, target, nil)
	for id := range 3 {
		write(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"t":"%s"}}`, id, strings.Repeat("x", 40<<10)))
		if got := read(t, c); !strings.Contains(got, `"result":{"t":`) {
			t.Fatalf("got %.100s", got)
		}
	}
	w, err := c.Writer(within(t, 5*time.Second), websocket.MessageText) // of a message that never ends
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(`{"a":"` + strings.Repeat("x", 200<<10))); err != nil {
		t.Fatal(err)
	}
	if got := closeCode(t, c); got != websocket.StatusTryAgainLater {
		t.Errorf("closed with %v", got)
	}
	if _ = s.Close(); s.held.Load() != others {
		t.Errorf("%d bytes are counted at the end", s.held.Load()-others)
	}
}

// Compression isn't agreed on, though a client offers it.
func TestNoCompression(t *testing.T) {
	res := upgrade(t, serve(t, transporttest.Echo(), ServerOptions{}), nethttp.Header{"Sec-Websocket-Extensions": {"permessage-deflate"}})
	if res.StatusCode != 101 || res.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("status %d, extensions %q", res.StatusCode, res.Header.Get("Sec-WebSocket-Extensions"))
	}
}

// Close tells every client 1001, cancels what runs, and waits for the ends of the sessions.
func TestServerCloses1001(t *testing.T) {
	var ended atomic.Int32
	echo := transporttest.Echo()
	target, s := serveWith(t, nil, ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) {
		return echo, func() { ended.Add(1) }
	}})
	a, b := raw(t, target, nil), raw(t, target, nil)
	write(t, a, `{"jsonrpc":"2.0","id":1,"method":"slow","params":{"key":"k"}}`)
	read(t, a)
	write(t, b, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	read(t, b)
	codes := make(chan websocket.StatusCode, 2)
	for _, c := range []*websocket.Conn{a, b} {
		go func() { codes <- closeCode(t, c) }()
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := ended.Load(); n != 2 {
		t.Errorf("%d sessions had ended when Close returned", n)
	}
	for range 2 {
		if got := <-codes; got != websocket.StatusGoingAway {
			t.Errorf("closed with %v", got)
		}
	}
	if res := upgrade(t, target, nil); res.StatusCode != 503 {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
}

// The end of the client ends its calls and its session, however it leaves.
func TestClientLeaves(t *testing.T) {
	for name, leave := range map[string]func(*websocket.Conn){
		"with a close frame": func(c *websocket.Conn) { _ = c.Close(websocket.StatusNormalClosure, "") },
		"without":            func(c *websocket.Conn) { _ = c.CloseNow() },
	} {
		t.Run(name, func(t *testing.T) {
			cancelled, ended := make(chan struct{}), make(chan struct{})
			h := mcp.HandlerFunc(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
				p.Notify(ctx, mcp.Notification("started", nil))
				<-ctx.Done()
				close(cancelled)
				return nil, ctx.Err()
			})
			c := raw(t, serve(t, nil, ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) {
				return h, func() { close(ended) }
			}}), nil)
			write(t, c, `{"jsonrpc":"2.0","id":1,"method":"x"}`)
			read(t, c)
			leave(c)
			ctx := within(t, 5*time.Second)
			for _, done := range []chan struct{}{cancelled, ended} {
				select {
				case <-done:
				case <-ctx.Done():
					t.Fatal("the session went on")
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	open := func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return nil, nil }
	conn := connect(t, Options{URL: serve(t, nil, ServerOptions{Open: open})})
	if _, err := conn.Receive(within(t, 5*time.Second)); err == nil || !strings.Contains(err.Error(), "code 1008 (policy violation)") {
		t.Errorf("Receive: %v", err)
	}
}

func TestOpenPanics(t *testing.T) {
	open := func(context.Context, *nethttp.Request) (mcp.Handler, func()) { panic("as asked for") }
	target, s := serveWith(t, nil, ServerOptions{Open: open})
	conn := connect(t, Options{URL: target})
	if _, err := conn.Receive(within(t, 5*time.Second)); err != io.EOF {
		t.Errorf("Receive: %v", err)
	}
	_ = s.Close() // doesn't wait for ever
}

// A client that doesn't read is cut off; until then it costs no more than the outbox and one message.
func TestSlowReader(t *testing.T) {
	gone := make(chan struct{})
	echo := transporttest.Echo()
	c := raw(t, serve(t, nil, ServerOptions{WriteTimeout: 200 * time.Millisecond,
		Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return echo, func() { close(gone) } }}), nil)
	for i := range 8 {
		write(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"huge","params":{"n":%d}}`, i, 2<<20))
	}
	select {
	case <-gone:
	case <-within(t, 8*time.Second).Done():
		t.Error("the client was not cut off")
	}
}

// Handlers that are held up by a slow client let go when it reads.
func TestBackpressure(t *testing.T) {
	const n = 8
	c := raw(t, serve(t, transporttest.Echo(), ServerOptions{}), nil)
	for i := range n {
		write(t, c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"huge","params":{"n":%d}}`, i, 2<<20))
	}
	for range n {
		if got := read(t, c); len(got) < 2<<20 {
			t.Fatalf("got %.100s", got)
		}
	}
}

// A close from each side at once leaves nothing behind.
func TestBothClose(t *testing.T) {
	target, s := serveWith(t, transporttest.Echo(), ServerOptions{})
	var conns []transport.Conn
	for range 10 {
		conns = append(conns, connect(t, Options{URL: target}))
	}
	for _, c := range conns {
		roundTrip(t, c, 1)
		go func() { _ = c.Close() }()
	}
	_ = s.Close()
	for _, c := range conns {
		if _, err := c.Receive(within(t, 5*time.Second)); err != io.EOF {
			t.Errorf("Receive: %v", err)
		}
	}
}
