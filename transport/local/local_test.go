package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
	"github.com/usher-mcp/usher/transport/transporttest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTransport(t *testing.T) {
	transporttest.Run(t, func(_ *testing.T, h mcp.Handler) transport.Transport { return local.New(h) })
}

func connect(t testing.TB, h mcp.HandlerFunc) transport.Conn {
	conn, err := local.New(h).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A5: a panic is a failed call, and the agent doesn't read its value.
func TestPanic(t *testing.T) {
	conn := connect(t, func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { panic("inner detail") })
	m, err := conn.(mcp.Handler).Handle(t.Context(), mcp.Request("1", "x", nil), mcp.Nobody)
	f, ok := errors.AsType[*fault.Error](err)
	if m != nil || !ok || f.Kind != fault.Internal {
		t.Fatalf("got %+v, %v", m, err)
	}
	if strings.Contains(f.Text(fault.English), "inner detail") {
		t.Errorf("the agent would read %q", f.Text(fault.English))
	}
	if !strings.Contains(err.Error(), "inner detail") || !strings.Contains(err.Error(), "local_test.go") {
		t.Errorf("the operator would read no more than %q", err)
	}
	if err := conn.Send(t.Context(), mcp.Notification("x", nil)); fault.KindOf(err) != fault.Internal || err == nil {
		t.Errorf("a panic for a notification came as %v", err)
	}
}

func TestNoAnswer(t *testing.T) {
	conn := connect(t, func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return nil, nil })
	if _, err := conn.(mcp.Handler).Handle(t.Context(), mcp.Request("1", "x", nil), mcp.Nobody); err == nil {
		t.Error("no answer and no error")
	}
}

func TestSendTakesNotificationsOnly(t *testing.T) {
	conn := connect(t, func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
		t.Error("the handler was called")
		return nil, nil
	})
	for _, m := range []*mcp.Message{mcp.Request("1", "x", nil), mcp.Answer("1", nil)} {
		if err := conn.Send(t.Context(), m); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func answering() mcp.HandlerFunc {
	answer := mcp.Answer("1", nil)
	return func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return answer, nil }
}

func TestNoAllocation(t *testing.T) {
	h := connect(t, answering()).(mcp.Handler)
	req := mcp.Request("1", "x", nil)
	if n := testing.AllocsPerRun(100, func() { _, _ = h.Handle(t.Context(), req, mcp.Nobody) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkHandle(b *testing.B) {
	h := connect(b, answering()).(mcp.Handler)
	req := mcp.Request("1", "x", nil)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = h.Handle(ctx, req, mcp.Nobody)
	}
}
