package ws

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// proxy forwards TCP until it is frozen; then both sides go on to believe in their connections.
type proxy struct {
	url    string
	frozen atomic.Bool
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "ws://" + l.Addr().String()}
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(target, "ws://"))
			if err != nil {
				_ = in.Close()
				continue
			}
			conns.Store(in, nil)
			conns.Store(out, nil)
			wg.Go(func() { p.forward(in, out) })
			wg.Go(func() { p.forward(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return p
}

func (p *proxy) forward(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !p.frozen.Load() {
			_, _ = to.Write(buf[:n])
		}
	}
}

var fast = Timing{PingEvery: 50 * time.Millisecond, PongTimeout: 500 * time.Millisecond}

// A peer whose network is gone is noticed by either end.
func TestHalfOpen(t *testing.T) {
	gone := make(chan struct{})
	echo := transporttest.Echo()
	p := startProxy(t, serve(t, nil, ServerOptions{Timing: fast,
		Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return echo, func() { close(gone) } }}))
	c := connect(t, Options{URL: p.url, Timing: fast})
	roundTrip(t, c, 1)
	p.frozen.Store(true)
	_, err := c.Receive(within(t, 5*time.Second))
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the server sent nothing for 500ms after a ping") {
		t.Errorf("Receive: %v", err)
	}
	select {
	case <-gone:
	case <-within(t, 5*time.Second).Done():
		t.Error("the server didn't notice")
	}
}

// Pings keep a silent connection, also where nobody receives for a long time.
func TestPingKeeps(t *testing.T) {
	pinged := make(chan struct{}, 100)
	url := peer(t, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
		pinged <- struct{}{}
		return true
	}}, func(ctx context.Context, s *websocket.Conn) {
		for range 3 { // the first is taken from the socket and waits for Receive
			_ = s.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"n"}`))
		}
		_, b, _ := s.Read(ctx)
		_ = b
		_ = s.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`))
		_, _, _ = s.Read(ctx)
	})
	c := connect(t, Options{URL: url, Timing: fast})
	for range 3 {
		select {
		case <-pinged:
		case <-within(t, 5*time.Second).Done():
			t.Fatal("no ping came")
		}
	}
	for range 3 {
		if _, err := c.Receive(within(t, 5*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	roundTrip(t, c, 1)
}
