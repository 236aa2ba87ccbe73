package grpc

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// blackhole forwards TCP until it is told to swallow everything, as a cable that was cut does.
type blackhole struct {
	l     net.Listener
	to    string
	dead  chan struct{}
	conns sync.WaitGroup
	mu    sync.Mutex
	open  []net.Conn
}

func newBlackhole(t *testing.T, to string) *blackhole {
	b := &blackhole{l: listenTCP(t), to: to, dead: make(chan struct{})}
	b.conns.Go(b.accept)
	t.Cleanup(func() {
		_ = b.l.Close()
		b.mu.Lock()
		for _, c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.conns.Wait()
	})
	return b
}

func (b *blackhole) accept() {
	for {
		in, err := b.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", b.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		b.mu.Lock()
		b.open = append(b.open, in, out)
		b.mu.Unlock()
		b.conns.Go(func() { b.copy(in, out) })
		b.conns.Go(func() { b.copy(out, in) })
	}
}

func (b *blackhole) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-b.dead: // swallowed
		default:
			_, _ = to.Write(buf[:n])
		}
	}
}

// B5, half-open: the client notices a server that is gone without a word. gRPC allows no ping before 10 s, so this is the
// longest test here.
func TestServerGoneSilently(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: always(transporttest.Echo())})
	b := newBlackhole(t, strings.TrimPrefix(url, "grpc://"))
	c := connect(t, Options{URL: "grpc://" + b.l.Addr().String(), Ping: time.Second})
	answer(t, c, "echo", `{}`)
	close(b.dead)
	send(t, c, mcp.Request("2", "echo", []byte(`{}`)))
	_, err := c.Receive(within(t, 30*time.Second))
	if err == nil || err == io.EOF || !strings.Contains(err.Error(), "the connection to the server broke: keepalive") {
		t.Errorf("the session ended with %v", err)
	}
	if err := c.Send(t.Context(), mcp.Notification("n", nil)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send after the end: %v", err)
	}
}

// B5, half-open: the server notices a client that is gone without a word, and cancels what it asked for.
func TestClientGoneSilently(t *testing.T) {
	t.Parallel()
	started, cancelled, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	url := serve(t, ServerOptions{Ping: time.Second, Open: func(context.Context, Client) (mcp.Handler, func(), error) {
		return h, func() { close(ended) }, nil
	}})
	b := newBlackhole(t, strings.TrimPrefix(url, "grpc://"))
	c := connect(t, Options{URL: "grpc://" + b.l.Addr().String()})
	send(t, c, mcp.Request("1", "m", nil))
	<-started
	close(b.dead)
	<-cancelled
	<-ended
}
