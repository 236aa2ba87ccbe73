package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

const secretWord = "hunter2"

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"scheme":       {URL: "ftp://h/" + secretWord},
		"no host":      {URL: "ws:///" + secretWord},
		"user":         {URL: "ws://u:" + secretWord + "@h/"},
		"unreadable":   {URL: "ws://h/" + secretWord + "\x01"},
		"header name":  {URL: "ws://h/", Header: nethttp.Header{"a b": {secretWord}}},
		"header value": {URL: "ws://h/", Header: nethttp.Header{"Authorization": {"Bearer\n" + secretWord}}},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), secretWord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, u := range []string{"ws://h", "WSS://h/x?y", "http://h", "https://h/#f"} {
		if _, err := New(Options{URL: u}); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// B7: headers arrive; those of the upgrade can't be overwritten.
func TestHeaders(t *testing.T) {
	got := make(chan *nethttp.Request, 1)
	url := serve(t, transporttest.Echo(), ServerOptions{Allow: func(r *nethttp.Request) bool {
		got <- r
		return true
	}})
	connect(t, Options{URL: url + "/mcp?k=v", Header: nethttp.Header{
		"authorization": {"Bearer x"}, "Host": {"other.example"}, "Connection": {"close"}, "Sec-Websocket-Key": {"y"},
		"Sec-Websocket-Protocol": {"z"},
	}})
	r := <-got
	if r.Header.Get("Authorization") != "Bearer x" || r.Host != "other.example" || r.URL.RequestURI() != "/mcp?k=v" ||
		r.Header.Get("Sec-WebSocket-Protocol") != "mcp" || r.Header.Get("User-Agent") != "usher" {
		t.Errorf("the server got %s, host %s, %v", r.URL, r.Host, r.Header)
	}
}

// Failures name what to do, and neither the URL nor a header.
func TestConnectFails(t *testing.T) {
	closed := listen(t, nethttp.NotFoundHandler())
	closed.Close()
	answer := func(status int, h nethttp.Header) string {
		return listen(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			for name, values := range h {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			if status == nethttp.StatusSwitchingProtocols {
				c, _, _ := nethttp.NewResponseController(w).Hijack()
				_ = c.Close()
				return
			}
			_, _ = io.WriteString(w, "go away")
		})).URL
	}
	for name, c := range map[string]struct {
		url    string
		status int
		says   string
	}{
		"refused":          {closed.URL, 0, "refused"},
		"no WebSocket":     {answer(200, nil), 200, ""},
		"unauthorized":     {answer(401, nil), 401, ""},
		"other host":       {answer(307, nethttp.Header{"Location": {"http://other.example/?" + secretWord}}), 307, "other.example, another host"},
		"wrong acceptance": {answer(101, nethttp.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}), 0, "as it should"},
		"wrong subprotocol": {answer(101, nethttp.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {"soap"}}),
			0, "as it should"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTransport(t, Options{URL: c.url + "/" + secretWord + "?key=" + secretWord,
				Header: nethttp.Header{"Authorization": {secretWord}}})
			_, err := tr.Connect(within(t, 5*time.Second))
			if err == nil || strings.Contains(err.Error(), secretWord) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Connect: %v", err)
			}
			e, ok := errors.AsType[*transport.StatusError](err)
			if (c.status != 0) != ok || ok && e.Status != c.status {
				t.Errorf("Connect: %v", err)
			}
			if c.status == 401 && string(e.Body) != "go away" {
				t.Errorf("the body is %q", e.Body)
			}
		})
	}
}

func TestConnectContext(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := listen(t, nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
		close(arrived)
		<-release
	}))
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	go func() {
		<-arrived
		cancel(cause)
	}()
	if _, err := newTransport(t, Options{URL: s.URL}).Connect(ctx); !errors.Is(err, cause) {
		t.Errorf("Connect: %v", err)
	}
	// A context that ends later ends nothing.
	ctx, end := context.WithCancel(t.Context())
	c, err := newTransport(t, Options{URL: serve(t, transporttest.Echo(), ServerOptions{})}).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	end()
	roundTrip(t, c, 1)
}

func roundTrip(t testing.TB, c transport.Conn, id int64) {
	t.Helper()
	if err := c.Send(within(t, 5*time.Second), mcp.Request(mcp.IntID(id), "echo", []byte(`{"a":1}`))); err != nil {
		t.Fatal(err)
	}
	m, err := c.Receive(within(t, 5*time.Second))
	if err != nil || m.ID != mcp.IntID(id) || string(m.Result) != `{"a":1}` {
		t.Fatalf("received %+v, %v", m, err)
	}
}

func TestRedirectWithinHost(t *testing.T) {
	s := NewServer(ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return transporttest.Echo(), nil }})
	l := listen(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/new" {
			nethttp.Redirect(w, r, "/new", nethttp.StatusTemporaryRedirect)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = s.Close() })
	roundTrip(t, connect(t, Options{URL: l.URL + "/old"}), 1)
}

// A WebSocket over TLS goes over HTTP/1.1, also where both sides have HTTP/2.
func TestTLS(t *testing.T) {
	s := NewServer(ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return transporttest.Echo(), nil }})
	l := httptest.NewUnstartedServer(s)
	l.EnableHTTP2 = true
	l.StartTLS()
	t.Cleanup(l.Close)
	t.Cleanup(func() { _ = s.Close() })
	tr := dial.Transport()
	tr.TLSClientConfig = l.Client().Transport.(*nethttp.Transport).TLSClientConfig.Clone()
	t.Cleanup(tr.CloseIdleConnections)
	roundTrip(t, connect(t, Options{URL: "wss" + strings.TrimPrefix(l.URL, "https"), Client: &nethttp.Client{Transport: tr}}), 1)
}

// A server that selects no subprotocol is taken.
func TestServerWithoutSubprotocol(t *testing.T) {
	url := peer(t, nil, func(ctx context.Context, c *websocket.Conn) {
		_, b, _ := c.Read(ctx)
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`))
		_, _, _ = c.Read(ctx)
		_ = b
	})
	roundTrip(t, connect(t, Options{URL: url}), 1)
}

// Close codes: 1000, 1001 and none are an orderly end; others are told, bounded and printable.
func TestServerCloses(t *testing.T) {
	for _, c := range []struct {
		code   websocket.StatusCode
		reason string
		want   string
	}{
		{websocket.StatusNormalClosure, "bye", ""},
		{websocket.StatusGoingAway, "", ""},
		{websocket.StatusNoStatusRcvd, "", ""},
		{websocket.StatusInternalError, "out of\x1b[31m luck\n", "code 1011 (internal error): out of.[31m luck."},
		{4001, strings.Repeat("ü", 60), "code 4001: üüü"},
	} {
		url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) { _ = s.Close(c.code, c.reason) })
		conn := connect(t, Options{URL: url})
		for range 2 {
			_, err := conn.Receive(within(t, 5*time.Second))
			if c.want == "" && err != io.EOF || c.want != "" && (err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%d: Receive: %v", c.code, err)
			}
		}
		if err := conn.Send(t.Context(), mcp.Notification("n", nil)); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%d: Send: %v", c.code, err)
		}
	}
}

func TestServerVanishes(t *testing.T) {
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) { _ = s.CloseNow() })
	_, err := connect(t, Options{URL: url}).Receive(within(t, 5*time.Second))
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "without a close frame") {
		t.Errorf("Receive: %v", err)
	}
}

func TestClientCloses(t *testing.T) {
	code := make(chan websocket.StatusCode, 1)
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) {
		_, _, err := s.Read(ctx)
		code <- websocket.CloseStatus(err)
	})
	c := connect(t, Options{URL: url})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := <-code; got != websocket.StatusNormalClosure {
		t.Errorf("the server was told %v", got)
	}
}

// A server that neither answers the close frame nor finishes its message can't hold Close up.
func TestCloseIsBounded(t *testing.T) {
	release := make(chan struct{})
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) {
		w, _ := s.Writer(ctx, websocket.MessageText)
		_, _ = w.Write([]byte(`{"never":`))
		<-release
	})
	defer close(release)
	c := connect(t, Options{URL: url})
	start := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 4*handshakeGrace {
		t.Errorf("Close took %v", took)
	}
	if _, err := c.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive: %v", err)
	}
}

func TestBinaryFromServer(t *testing.T) {
	code := make(chan websocket.StatusCode, 1)
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) {
		_ = s.Write(ctx, websocket.MessageBinary, []byte(`{"jsonrpc":"2.0","method":"n"}`))
		_, _, err := s.Read(ctx)
		code <- websocket.CloseStatus(err)
	})
	_, err := connect(t, Options{URL: url}).Receive(within(t, 5*time.Second))
	if err == nil || !strings.Contains(err.Error(), "binary") {
		t.Errorf("Receive: %v", err)
	}
	if got := <-code; got != websocket.StatusUnsupportedData {
		t.Errorf("the server was told %v", got)
	}
}

// A message of 17 MiB fails the call that it names, though the id comes last, and closes with 1009.
func TestTooLongFromServer(t *testing.T) {
	code := make(chan websocket.StatusCode, 1)
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) {
		_ = s.Write(ctx, websocket.MessageText, []byte(`{"result":{"id":99,"t":"`+strings.Repeat("x", 17<<20)+`"},"jsonrpc":"2.0","id":7}`))
		_, _, err := s.Read(ctx)
		code <- websocket.CloseStatus(err)
	})
	c := connect(t, Options{URL: url})
	_, err := c.Receive(within(t, 10*time.Second))
	b, ok := errors.AsType[*transport.Broken](err)
	if !ok || b.Message.ID != "7" || fault.KindOf(b.Reason) != fault.TooLarge {
		t.Fatalf("Receive: %v", err)
	}
	if _, err = c.Receive(within(t, 5*time.Second)); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("then: %v", err)
	}
	if got := <-code; got != websocket.StatusMessageTooBig {
		t.Errorf("the server was told %v", got)
	}
}

func TestTooLongToSend(t *testing.T) {
	c := connect(t, Options{URL: serve(t, transporttest.Echo(), ServerOptions{})})
	err := c.Send(t.Context(), mcp.Notification("n", []byte(`"`+strings.Repeat("x", mcp.MaxMessage)+`"`)))
	if !errors.Is(err, transport.ErrNotSent) || fault.KindOf(err) != fault.TooLarge {
		t.Errorf("Send: %v", err)
	}
	roundTrip(t, c, 1)
}

// What is no message is skipped and counted; one that names a call fails it; a batch is its messages.
func TestBrokenMessages(t *testing.T) {
	url := peer(t, nil, func(ctx context.Context, s *websocket.Conn) {
		for _, text := range []string{"", "hello", `{"level":"info","id":3}`, `{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`,
			`[{"jsonrpc":"2.0","id":8,"result":{}},{"jsonrpc":"2.0","id":9,"result":{}},5]`} {
			_ = s.Write(ctx, websocket.MessageText, []byte(text))
		}
		_, _, _ = s.Read(ctx)
	})
	c := connect(t, Options{URL: url})
	_, err := c.Receive(within(t, 5*time.Second))
	if b, ok := errors.AsType[*transport.Broken](err); !ok || b.Message.ID != "7" {
		t.Fatalf("Receive: %v", err)
	}
	for _, id := range []mcp.ID{"8", "9"} {
		if m, err := c.Receive(within(t, 5*time.Second)); err != nil || m.ID != id {
			t.Errorf("received %+v, %v", m, err)
		}
	}
	_ = c.Close()
	if n := c.(transport.Describer).Describe().StrayLines; n != 3 {
		t.Errorf("%d strays, want 3", n)
	}
}

// A server that doesn't read holds up Send, not longer than its context and a moment; others wait with theirs.
func TestSendBackpressure(t *testing.T) {
	release := make(chan struct{})
	url := peer(t, nil, func(context.Context, *websocket.Conn) { <-release })
	defer close(release)
	c := connect(t, Options{URL: url})
	big := mcp.Notification("n", []byte(`"`+strings.Repeat("x", 12<<20)+`"`))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var first error
	wg.Go(func() { first = c.Send(ctx, big) })
	for c.(*conn).link.wire.wrote.Load() == 0 {
		runtime.Gosched()
	}
	waiter, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := c.Send(waiter, big); !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the one that waited: %v", err)
	}
	cancel()
	wg.Wait()
	if first == nil || errors.Is(first, transport.ErrNotSent) || !errors.Is(first, context.Canceled) {
		t.Errorf("the one that had begun: %v", first)
	}
	if _, err := c.Receive(within(t, 5*time.Second)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Receive: %v", err)
	}
	if err := c.Send(t.Context(), big); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("afterwards: %v", err)
	}
}

// A context that ends right behind a message that left costs nothing.
func TestSendContextEndsAfterwards(t *testing.T) {
	c := connect(t, Options{URL: serve(t, transporttest.Echo(), ServerOptions{})})
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_ = c.Send(ctx, mcp.Notification("n", fmt.Appendf(nil, `{"i":%d}`, i)))
		cancel()
	}
	roundTrip(t, c, 1)
}
