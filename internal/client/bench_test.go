package client

import (
	"context"
	"io"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// echo is a Conn that answers at once, with as little work as possible.
type echo struct {
	answers chan *mcp.Message
	closed  chan struct{}
}

func newEcho() *echo { return &echo{answers: make(chan *mcp.Message, 16), closed: make(chan struct{})} }

func (e *echo) Connect(context.Context) (transport.Conn, error) { return e, nil }

var echoResult = []byte(`{"resultType":"complete","content":[{"type":"text","text":"hello, this is a small result"}]}`)

func (e *echo) Send(_ context.Context, m *mcp.Message) error {
	switch m.Method {
	case mcp.MethodDiscover:
		e.answers <- &mcp.Message{ID: m.ID, Result: []byte(`{"supportedVersions":["2026-07-28"]}`)}
	default:
		e.answers <- &mcp.Message{ID: m.ID, Result: echoResult}
	}
	return nil
}

func (e *echo) Receive(context.Context) (*mcp.Message, error) {
	select {
	case m := <-e.answers:
		return m, nil
	case <-e.closed:
		return nil, io.EOF
	}
}

func (e *echo) Close() error { close(e.closed); return nil }

type echoHandler struct{ *echo }

func (e echoHandler) Connect(context.Context) (transport.Conn, error) { return e, nil }

func (e echoHandler) Handle(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	if m.Method == mcp.MethodDiscover {
		return &mcp.Message{ID: m.ID, Result: []byte(`{"supportedVersions":["2026-07-28"]}`)}, nil
	}
	return &mcp.Message{ID: m.ID, Result: echoResult}, nil
}

func BenchmarkHandle(b *testing.B) {
	params := []byte(`{"name":"search","arguments":{"region":"eu","q":"some words to look for"},"_meta":{"progressToken":7,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`)
	for name, tr := range map[string]func() transport.Transport{
		"stdio": func() transport.Transport { return newEcho() },
		"http":  func() transport.Transport { return echoHandler{newEcho()} },
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Connect(b.Context(), tr(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, params), mcp.Nobody); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			_ = s.Close()
		})
	}
}
