package sse

import (
	"testing"

	"github.com/usher-mcp/usher/transport/transporttest"
)

// A call over loopback: a post, its 202, and the answer on the stream.
func BenchmarkCall(b *testing.B) {
	_, at := serveMCP(b, ServerOptions{Handler: transporttest.Echo()}, nil)
	c := connect(b, at.URL)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(b.Context(), request(1, "echo", 1)); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Receive(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
