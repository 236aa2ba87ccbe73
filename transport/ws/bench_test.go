package ws

import (
	"context"
	"testing"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/mcp"
)

// Both ends' allocations are in the numbers: they run in one process. Beside them stands what the library alone takes to
// echo the same bytes over the same loopback.
func BenchmarkCall(b *testing.B) {
	request := mcp.Request("7", mcp.MethodCallTool, []byte(`{"name":"echo","arguments":{"text":"hello"}}`))
	b.Run("usher", func(b *testing.B) {
		answer := mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			return mcp.Answer(m.ID, m.Params), nil
		})
		c := connect(b, Options{URL: serve(b, answer, ServerOptions{})})
		ctx, cancel := context.WithCancel(b.Context()) // as a session's calls have
		defer cancel()
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Send(ctx, request); err != nil {
				b.Fatal(err)
			}
			if _, err := c.Receive(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		c := raw(b, peer(b, nil, func(_ context.Context, s *websocket.Conn) {
			for {
				kind, m, err := s.Read(context.Background())
				if err != nil || s.Write(context.Background(), kind, m) != nil {
					return
				}
			}
		}), nil)
		out := request.AppendTo(nil)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Write(context.Background(), websocket.MessageText, out); err != nil {
				b.Fatal(err)
			}
			if _, _, err := c.Read(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
