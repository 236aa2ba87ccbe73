package grpc

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// A server that stops answers what runs, then ends each session with OK.
func TestShutdown(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), newGate()
	t.Cleanup(finish.open)
	h := mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-finish.c
		return mcp.Answer(m.ID, nil), nil
	})
	l := listenTCP(t)
	s := NewServer(ServerOptions{Open: always(h)})
	run(t, s, l)
	tr := newTransport(t, Options{URL: "grpc://" + l.Addr().String()})
	busy := connect(t, Options{URL: "grpc://" + l.Addr().String()})
	idle := connect(t, Options{URL: "grpc://" + l.Addr().String()})
	send(t, busy, mcp.Request("1", "m", nil))
	<-started
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(within(t, 4*time.Second)) }()
	ctx := within(t, 5*time.Second)
	if _, err := idle.Receive(ctx); err != io.EOF {
		t.Errorf("an idle session ended with %v", err)
	}
	if c, err := tr.Connect(ctx); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Connect while the server stops: %v, %v", c, err)
	}
	finish.open()
	if m, err := busy.Receive(ctx); err != nil || m.ID != "1" || m.Result == nil {
		t.Errorf("the running request was answered with %+v, %v", m, err)
	}
	if _, err := busy.Receive(ctx); err != io.EOF {
		t.Errorf("its session ended with %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// A call that doesn't end in time is cut off.
func TestShutdownInAHurry(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	l := listenTCP(t)
	s := NewServer(ServerOptions{Open: always(h)})
	run(t, s, l)
	c := connect(t, Options{URL: "grpc://" + l.Addr().String()})
	send(t, c, mcp.Request("1", "m", nil))
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	_, err := c.Receive(within(t, 5*time.Second))
	for err == nil {
		_, err = c.Receive(within(t, 5*time.Second))
	}
	if err == io.EOF || !strings.Contains(err.Error(), "the connection to the server broke") {
		t.Errorf("the session ended with %v", err)
	}
}

func TestTooManySessions(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: always(transporttest.Echo()), MaxSessions: 1})
	first := connect(t, Options{URL: url})
	_, err := newTransport(t, Options{URL: url}).Connect(within(t, 5*time.Second))
	if !errors.Is(err, transport.ErrNotSent) || !strings.Contains(err.Error(), "too many sessions") {
		t.Errorf("the second session: %v", err)
	}
	_ = first.Close()
	ctx := within(t, 5*time.Second)
	for { // the server notices a moment later
		c, err := newTransport(t, Options{URL: url}).Connect(ctx)
		if err == nil {
			_ = c.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// Backpressure: a client that reads nothing makes the server hold a bounded number of answers, and is cut off when it
// doesn't go on.
func TestClientThatDoesntRead(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{}, 1<<20)
	text := []byte(`"` + strings.Repeat("x", 256<<10) + `"`)
	h := mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		answered <- struct{}{}
		return mcp.Answer(m.ID, text), nil
	})
	ended := make(chan struct{})
	stream := rawSession(t, serve(t, ServerOptions{
		Open:  func(context.Context, Client) (mcp.Handler, func(), error) { return h, func() { close(ended) }, nil },
		Stall: 300 * time.Millisecond,
	}))
	const n = 1000
	for i := range n {
		m := mcp.Request(mcp.IntID(int64(i)), "m", nil)
		if err := stream.Send(&mcpv1.Frame{Json: m.AppendTo(nil)}); err != nil {
			break
		}
	}
	<-ended
	if got := len(answered); got == 0 || got > 512 {
		t.Errorf("%d of %d requests ran while nobody read their answers", got, n)
	}
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Aborted {
		t.Errorf("the session ended with %v", err)
	}
}

// Backpressure the other way: a server that reads nothing makes Send wait, and a Send that gives up harms no other.
func TestServerThatDoesntRead(t *testing.T) {
	t.Parallel()
	read := newGate()
	t.Cleanup(read.open)
	c := connect(t, Options{URL: serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error {
		_ = stream.SendHeader(nil)
		<-read.c
		for {
			f, err := stream.Recv()
			if err != nil {
				return err
			}
			if len(f.Json) < 100 {
				return stream.Send(f)
			}
		}
	})})
	big := mcp.Notification("big", []byte(`{"t":"`+strings.Repeat("x", 1<<20)+`"}`))
	var err error
	sent := 0
	for ; err == nil && sent < 100; sent++ {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err = c.Send(ctx, big)
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, transport.ErrNotSent) {
		t.Fatalf("after %d messages that nobody read: %v", sent, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Send(ctx, big); !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that waits for its turn: %v", err)
	}
	read.open()
	send(t, c, mcp.Notification("last", nil))
	if m, err := c.Receive(within(t, 10*time.Second)); err != nil || m.Method != "last" {
		t.Errorf("got %+v, %v", m, err)
	}
}
