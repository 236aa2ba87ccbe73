package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// B5: 10,000 messages each way, in order, while both sides send.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	const n = 10_000
	c := connect(t, Options{URL: serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error {
		_ = stream.SendHeader(nil)
		for {
			f, err := stream.Recv()
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := stream.Send(f); err != nil {
				return err
			}
		}
	})})
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			if err := c.Send(t.Context(), mcp.Notification("n", fmt.Appendf(nil, `{"i":%d}`, i))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	ctx := within(t, 20*time.Second)
	for i := range n {
		m, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"i":%d}`, i); string(m.Params) != want {
			t.Fatalf("message %d is %s", i, m.Params)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// long is a message of n bytes that tells its id last, as some servers do.
func long(n int, head string) []byte {
	const tail = `"},"id":7}`
	b := append([]byte(head), strings.Repeat("x", n-len(head)-len(tail))...)
	return append(b, tail...)
}

// B5: a message of more than 16 MiB fails the call that it belongs to, and no other.
func TestTooLongAnswer(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{URL: serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error {
		_ = stream.SendHeader(nil)
		_ = stream.Send(&mcpv1.Frame{Json: long(17<<20, `{"jsonrpc":"2.0","result":{"id":8,"text":"`)})
		_ = stream.Send(&mcpv1.Frame{Json: []byte(`{"jsonrpc":"2.0","method":"after"}`)})
		return stream.Send(&mcpv1.Frame{Json: long(33<<20, `{"jsonrpc":"2.0","result":{"text":"`)})
	})})
	ctx := within(t, 20*time.Second)
	_, err := c.Receive(ctx)
	broken, ok := errors.AsType[*transport.Broken](err)
	if !ok || broken.Message.ID != "7" || !errors.Is(err, duplex.ErrTooLong) {
		t.Fatalf("17 MiB came as %v", err)
	}
	if m, err := c.Receive(ctx); err != nil || m.Method != "after" {
		t.Errorf("behind it came %+v, %v", m, err)
	}
	for range 2 {
		if _, err := c.Receive(ctx); err == nil || err == io.EOF || !strings.Contains(err.Error(), "more than 32 MiB") {
			t.Errorf("33 MiB ended the session with %v", err)
		}
	}
	if err := c.Send(ctx, mcp.Notification("n", nil)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send after the end: %v", err)
	}
}

func TestTooLongRequest(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: always(transporttest.Echo())})
	c := connect(t, Options{URL: url})
	err := c.Send(t.Context(), mcp.Request("1", "echo", []byte(`{"t":"`+strings.Repeat("x", 17<<20)+`"}`)))
	if !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, duplex.ErrTooLong) {
		t.Errorf("Send of 17 MiB: %v", err)
	}
	// What our client doesn't send, another might.
	stream := rawSession(t, url)
	_ = stream.Send(&mcpv1.Frame{Json: long(17<<20, `{"jsonrpc":"2.0","method":"echo","params":{"text":"`)})
	f, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	m, err := mcp.Parse(f.Json)
	if err != nil || m.ID != "7" || m.Err() == nil || m.Err().Code != mcp.CodeInvalidRequest {
		t.Errorf("17 MiB were answered with %.200s, %v", f.Json, err)
	}
	_ = stream.Send(&mcpv1.Frame{Json: []byte(`{"jsonrpc":"2.0","id":8,"method":"echo","params":{}}`)})
	if f, err = stream.Recv(); err != nil || string(f.Json) != `{"jsonrpc":"2.0","id":8,"result":{}}` {
		t.Errorf("the request behind it: %s, %v", f.GetJson(), err)
	}
	_ = stream.Send(&mcpv1.Frame{Json: make([]byte, 33<<20)})
	if _, err = stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("33 MiB: %v", err)
	}
}

// What is no message ends nothing (B1's rule for this transport).
func TestStrayFrames(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{
		Header: map[string][]string{"authorization": {"Bearer sesame-opens"}},
		URL: serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error {
			_ = stream.SendHeader(nil)
			for _, s := range []string{
				"", "\x1b[31mno JSON\xff sesame-opens", `[{"jsonrpc":"2.0","method":"batched"}]`,
				`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`, `{"jsonrpc":"2.0","method":"fine"}`,
			} {
				_ = stream.Send(&mcpv1.Frame{Json: []byte(s)})
			}
			return nil
		}),
	})
	ctx := within(t, 5*time.Second)
	_, err := c.Receive(ctx)
	if broken, ok := errors.AsType[*transport.Broken](err); !ok || broken.Message.ID != "7" {
		t.Errorf("a broken answer came as %v", err)
	}
	if m, err := c.Receive(ctx); err != nil || m.Method != "fine" {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := c.Receive(ctx); err != io.EOF {
		t.Errorf("the orderly end came as %v", err)
	}
	if d := c.(transport.Describer).Describe(); d.StrayLines != 3 || d.StraySample != "" {
		t.Errorf("strays: %+v", d)
	}
}

func TestServerAnswersStrayFrames(t *testing.T) {
	t.Parallel()
	stream := rawSession(t, serve(t, ServerOptions{Open: always(transporttest.Echo())}))
	for _, c := range []struct{ in, out string }{
		{`hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{`[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":3,"method":"echo","params":[]}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,`},
	} {
		_ = stream.Send(&mcpv1.Frame{Json: []byte(c.in)})
		if f, err := stream.Recv(); err != nil || !strings.HasPrefix(string(f.GetJson()), c.out) {
			t.Errorf("%s was answered with %s, %v", c.in, f.GetJson(), err)
		}
	}
}

// The client's half-close lets what runs be answered; then the session ends with OK.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), newGate()
	t.Cleanup(finish.open)
	h := mcp.HandlerFunc(func(ctx context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-finish.c
		return mcp.Answer(m.ID, nil), ctx.Err()
	})
	ended := make(chan struct{})
	stream := rawSession(t, serve(t, ServerOptions{Open: func(context.Context, Client) (mcp.Handler, func(), error) {
		return h, func() { close(ended) }, nil
	}}))
	_ = stream.Send(&mcpv1.Frame{Json: []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)})
	<-started
	_ = stream.CloseSend()
	finish.open()
	if f, err := stream.Recv(); err != nil || string(f.Json) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("got %s, %v", f.GetJson(), err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("the session ended with %v", err)
	}
	<-ended
}

// A client that cancels its stream, or is cut off, leaves nothing running.
func TestClientGone(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	started := make(chan struct{})
	h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	url := serve(t, ServerOptions{Open: always(h)})
	cc := rawConn(t, url)
	stream, err := mcpv1.NewMcpClient(cc).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send(&mcpv1.Frame{Json: []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)})
	<-started
	_ = cc.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

// What the server asks in return goes over the same stream.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{URL: serve(t, ServerOptions{Open: always(transporttest.Echo())})})
	q := answer(t, c, "ask", `{"method":"roots/list"}`)
	if !q.IsRequest() || q.Method != "roots/list" {
		t.Fatalf("got %+v", q)
	}
	send(t, c, mcp.Answer(q.ID, []byte(`{"roots":[]}`)))
	m, err := c.Receive(within(t, 5*time.Second))
	if err != nil || m.ID != "1" || string(m.Result) != `{"roots":[]}` {
		t.Errorf("the request was answered with %+v, %v", m, err)
	}
}
