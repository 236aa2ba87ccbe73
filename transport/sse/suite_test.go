package sse

import (
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"testing"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

func TestSuite(t *testing.T) { // B3
	t.Run("HTTP/1.1", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			_, at := serveMCP(t, ServerOptions{Handler: h}, nil)
			return newTransport(t, Options{URL: at.URL + "/sse"})
		})
	})
	t.Run("broken", func(t *testing.T) {
		transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
			_, at := serveMCP(t, ServerOptions{Handler: h}, nil)
			p := transporttest.NewProxy(t, "tcp", at.Listener.Addr().String(), nil)
			return newTransport(t, Options{URL: "http://" + p.Addr + "/sse"}), p
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			url, client := serveHTTP2(t, NewServer(ServerOptions{Handler: h}))
			return newTransport(t, Options{URL: url + "/sse", Client: client})
		})
	})
}

// serveHTTP2 runs s until the test ends.
func serveHTTP2(t *testing.T, s *Server) (string, *nethttp.Client) {
	t.Helper()
	at := httptest.NewUnstartedServer(s)
	at.EnableHTTP2 = true
	at.Config.ErrorLog = log.New(io.Discard, "", 0)
	at.StartTLS()
	t.Cleanup(at.Close)
	t.Cleanup(func() { _ = s.Close() })
	tr := dial.Transport()
	tr.TLSClientConfig = at.Client().Transport.(*nethttp.Transport).TLSClientConfig.Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return at.URL, &nethttp.Client{Transport: tr}
}
