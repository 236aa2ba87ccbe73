package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/ws"
)

// listenOn serves c at an address of this machine, and returns it.
func listenOn(kind string, c *core) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	var h nethttp.Handler
	switch kind {
	case "http", "modern":
		h = &posts{core: c, sessions: map[string]bool{}}
	case "ws":
		h = ws.NewServer(ws.ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return c, nil }})
	case "sse":
		h = sse.NewServer(sse.ServerOptions{Handler: c})
	case "grpc":
		s := grpc.NewServer(grpc.ServerOptions{
			Open: func(context.Context, grpc.Client) (mcp.Handler, func(), error) { return c, nil, nil },
		})
		go func() { _ = s.Serve(l) }()
		return l.Addr().String(), nil
	default:
		return "", fmt.Errorf("-listen %s is not known", kind)
	}
	go func() { _ = nethttp.Serve(l, h) }()
	return l.Addr().String(), nil
}

// posts is Streamable HTTP, with sessions in the old era.
type posts struct {
	core     *core
	mu       sync.Mutex
	sessions map[string]bool
}

func (p *posts) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method != nethttp.MethodPost {
		w.WriteHeader(nethttp.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	m, parseErr := mcp.Parse(body)
	if err != nil || parseErr != nil {
		w.WriteHeader(nethttp.StatusBadRequest)
		return
	}
	if !p.enter(w, r, m) {
		w.WriteHeader(nethttp.StatusNotFound)
		return
	}
	answer, err := p.core.Handle(r.Context(), m, mcp.Nobody)
	switch {
	case err != nil:
		w.WriteHeader(nethttp.StatusInternalServerError)
	case answer == nil:
		w.WriteHeader(nethttp.StatusAccepted)
	case *stream && m.Method == mcp.MethodCallTool:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer.AppendTo(nil))
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer.AppendTo(nil))
	}
}

// enter lets in requests of the sessions that this process has begun.
func (p *posts) enter(w nethttp.ResponseWriter, r *nethttp.Request, m *mcp.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.core.modern || m.Method == mcp.MethodDiscover:
		return true
	case m.Method == mcp.MethodInitialize:
		id := rand.Text()
		p.sessions[id] = true
		w.Header().Set(mcp.HeaderSession, id)
		return true
	}
	return p.sessions[r.Header.Get(mcp.HeaderSession)]
}
