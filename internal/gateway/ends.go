package gateway

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/ws"
)

// WebSocket returns the handler that opens WebSockets (transport/ws), to be mounted at a path of an HTTP/1.1 server that
// is like that of HTTP. Host and Origin are checked as there. Close ends its connections.
func (g *Gateway) WebSocket() http.Handler {
	s := ws.NewServer(ws.ServerOptions{
		MaxConnections: g.o.MaxConnections,
		Allow:          func(*http.Request) bool { return true }, // Guard has decided
		Open:           func(context.Context, *http.Request) (mcp.Handler, func()) { return g.Front(viaWS) },
	})
	g.own(func() { _ = s.Close() })
	return g.Guard(s)
}

// SSE returns the handler of the transport of 2024-11-05 (transport/sse), to be mounted as that of WebSocket. Close ends
// its streams; the http.Server's Shutdown would wait for them, so Close comes before it.
func (g *Gateway) SSE() http.Handler {
	s := sse.NewServer(sse.ServerOptions{
		MaxSessions: g.o.MaxConnections,
		Session:     func(context.Context, *http.Request) (mcp.Handler, func()) { return g.Front(viaSSE) },
	})
	g.own(func() { _ = s.Close() })
	return g.Guard(s)
}

// shutdownTime is how long gRPC may take for what is on its way when the gateway closes; all calls have ended by then.
const shutdownTime = 3 * time.Second

// ServeGRPC serves gRPC (transport/grpc), with health checks and reflection, on l, which the caller bound to a loopback
// address and which it closes. It returns nil after Close, else why l failed.
//
// No browser speaks gRPC by itself, so a Host says nothing here; a proxy that lets web pages in passes their Origin on,
// which is checked as for HTTP.
func (g *Gateway) ServeGRPC(l net.Listener) error {
	s := grpc.NewServer(grpc.ServerOptions{MaxSessions: g.o.MaxConnections, Open: g.openGRPC})
	g.own(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		_ = s.Shutdown(ctx)
	})
	return s.Serve(l)
}

func (g *Gateway) openGRPC(_ context.Context, c grpc.Client) (mcp.Handler, func(), error) {
	if !g.originsAllowed(c.Header["origin"]) {
		return nil, nil, &transport.StatusError{Status: http.StatusForbidden, Body: []byte(textOrigin)}
	}
	h, end := g.Front(viaGRPC)
	if h == nil {
		return nil, nil, errFull
	}
	return h, end, nil
}

// own makes Close call end, at once if it has begun already.
func (g *Gateway) own(end func()) {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.ends = append(g.ends, end)
	}
	g.mu.Unlock()
	if closed {
		end()
	}
}
