package grpc

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// B5, case-065
func TestBrokenSuite(t *testing.T) {
	t.Parallel()
	transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
		at := strings.TrimPrefix(serve(t, ServerOptions{Open: always(h)}), "grpc://")
		p := transporttest.NewProxy(t, "tcp", at, nil)
		return newTransport(t, Options{URL: "grpc://" + p.Addr}), p
	})
}
