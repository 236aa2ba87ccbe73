package grpc

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// One call at a time, against gRPC alone with the same frames. Both ends are in the numbers, which run in one process.
func BenchmarkRoundTrip(b *testing.B) {
	for name, size := range map[string]int{"100B": 100, "64KiB": 64 << 10} {
		req := mcp.Request("7", "echo", []byte(`{"text":"`+strings.Repeat("x", size)+`"}`))
		b.Run("usher/"+name, func(b *testing.B) {
			c := connect(b, Options{URL: serve(b, ServerOptions{Open: always(transporttest.Echo())})})
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Send(b.Context(), req); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Receive(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("grpc/"+name, func(b *testing.B) {
			stream := rawSession(b, serveRaw(b, func(stream mcpv1.Mcp_SessionServer) error {
				for {
					f, err := stream.Recv()
					if err != nil {
						return err
					}
					if err := stream.Send(f); err != nil {
						return err
					}
				}
			}))
			f := &mcpv1.Frame{Json: req.AppendTo(nil)}
			b.ReportAllocs()
			for b.Loop() {
				if err := stream.Send(f); err != nil {
					b.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
