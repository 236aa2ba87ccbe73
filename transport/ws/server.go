package ws

import (
	"bufio"
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/mcp"
)

const (
	defaultMaxConnections = 256
	defaultWriteTimeout   = 30 * time.Second
)

// ServerOptions says whom a Server lets in and who answers.
type ServerOptions struct {
	// Open makes the Handler of one connection. ctx ends with the connection; r is the request that opened it, whose
	// body is empty. end, if not nil, is called when nothing of the connection runs any more. A nil Handler refuses the
	// client with close code 1008. Open runs when the WebSocket is open already and must not block for long.
	Open func(ctx context.Context, r *nethttp.Request) (h mcp.Handler, end func())
	// Allow reports whether a request may open a connection; others get 403. Nil: SameOrigin.
	Allow func(r *nethttp.Request) bool
	// MaxConnections at once; 0: 256. Further ones get 503.
	MaxConnections int
	// WriteTimeout is how long a client may take nothing of what is sent to it, before it is cut off; 0: 30 s.
	WriteTimeout time.Duration
	Timing
}

// Server is the server end. Each WebSocket is a session of its own, which lives as long as its connection. What all
// clients send and wait for at once has at most 1 GiB: beyond that a request is refused, and a client that is in the
// midst of a long message is closed with 1013.
type Server struct {
	o      ServerOptions
	ctx    context.Context
	cancel context.CancelCauseFunc
	held   atomic.Int64 // by all connections; duplex.Share

	mu     sync.Mutex
	open   int
	idle   chan struct{} // closed when closed and open is 0
	closed bool
}

var _ nethttp.Handler = (*Server)(nil)

var errShutdown = errors.New("the server is shutting down")

// NewServer makes a Server, to be mounted at a path of an HTTP/1.1 server. HTTP/2 has another way to open a WebSocket,
// which it doesn't know. Connections outlive http.Server.Shutdown: Close ends them.
func NewServer(o ServerOptions) *Server {
	if o.Allow == nil {
		o.Allow = SameOrigin
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	s := &Server{o: o, idle: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// Close ends all connections with close code 1001 and waits until nothing of them runs, a few seconds at most. Later
// requests get 503. It is idempotent and returns nil.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed && s.open == 0 {
		close(s.idle)
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel(errShutdown)
	<-s.idle
	return nil
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.open >= s.o.MaxConnections {
		return false
	}
	s.open++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.closed {
		close(s.idle)
	}
}

// ServeHTTP opens a WebSocket and serves it until it ends. It selects the subprotocol "mcp" where that is offered, takes
// clients that offer none, and refuses those that offer only others.
func (s *Server) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	switch {
	case !s.o.Allow(r):
		nethttp.Error(w, "this origin may not connect", nethttp.StatusForbidden)
		return
	case !offersOurs(r.Header["Sec-Websocket-Protocol"]):
		nethttp.Error(w, `offer the WebSocket subprotocol "mcp", or none`, nethttp.StatusBadRequest)
		return
	case !s.enter():
		w.Header().Set("Retry-After", "5")
		nethttp.Error(w, "no more connections are taken now", nethttp.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	h := &hijack{ResponseWriter: w, wire: &wire{patience: s.o.WriteTimeout}}
	c, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // Allow has decided
	})
	if err != nil {
		return // Accept has answered
	}
	s.serve(newLink(c, h.wire, "the client", s.o.Timing), r)
}

// offersOurs reports whether a client that offers these subprotocols may speak MCP.
func offersOurs(offers []string) bool {
	all := strings.Split(strings.Join(offers, ","), ",")
	return len(offers) == 0 || slices.ContainsFunc(all, func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), subprotocol)
	})
}

// hijack puts a wire below the connection that Accept takes over.
type hijack struct {
	nethttp.ResponseWriter
	wire *wire
}

var _ nethttp.Hijacker = (*hijack)(nil)

func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := nethttp.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.wire.rwc = c
	rw.Writer.Reset(h.wire)
	return wired{c, h.wire}, rw, nil
}

// wired is a net.Conn through a wire.
type wired struct {
	net.Conn
	wire *wire
}

func (w wired) Read(b []byte) (int, error)  { return w.wire.Read(b) }
func (w wired) Write(b []byte) (int, error) { return w.wire.Write(b) }
func (w wired) Close() error                { return w.wire.Close() }
