package ws

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// B4, case-065
func TestBrokenSuite(t *testing.T) {
	transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
		p := transporttest.NewProxy(t, "tcp", strings.TrimPrefix(serve(t, h, ServerOptions{}), "ws://"), nil)
		return newTransport(t, Options{URL: "ws://" + p.Addr}), p
	})
}
