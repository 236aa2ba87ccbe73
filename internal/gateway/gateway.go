package gateway

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/mcp"
)

// Options of a Gateway. The zero value is ready to use.
type Options struct {
	Info         mcp.Implementation // what clients see; default usher and its version
	Instructions string             // what clients read about the whole; cut at 2048 bytes
	CallTimeout  time.Duration      // of one call; default 10 min (D2)
	MaxSessions  int                // legacy HTTP sessions at once; default 10,000. One more ends the longest idle
	IdleTimeout  time.Duration      // after which an unused legacy HTTP session ends; default 30 min
	// MaxConnections bounds the connections that go both ways: WebSocket, SSE, gRPC, stdio and Front; default 256. One
	// more is refused.
	MaxConnections int
	// AllowedHosts are names ("box", any port) or addresses ("box:8080") that a Host header may have besides loopback
	// ones with the port that is served.
	AllowedHosts []string
	// Server is the one server that clients see, as usher.SessionOptions has it; empty: all.
	Server string
	// Principal is whom the clients act for, such as the name of the only user who can connect; empty: nobody knows.
	Principal string
	// Origins are values of the Origin header that are let in besides loopback ones, such as "https://ide.example".
	Origins []string
}

// Gateway serves the tools of one Host. All methods are safe for concurrent use.
type Gateway struct {
	h     *usher.Host
	o     Options
	words words

	ctx    context.Context // the life of all calls
	cancel context.CancelFunc

	mu      sync.RWMutex // guards what follows, and that running isn't added to while Close waits
	closed  bool
	running sync.WaitGroup // calls in the host
	fronts  map[*front]struct{}
	ends    []func() // of server ends that Close ends

	sessions  *sessions
	deadlines deadlines // of calls over HTTP in the legacy era
	conns     sync.Map  // net.Conn → *agent
	buffers   sync.Pool
}

var errClosed = errors.New("the gateway is closing; connect again later")

// New makes a Gateway for h. Close it before the host, whose end cancels all calls.
func New(h *usher.Host, o Options) *Gateway {
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "usher", Version: usher.Version}
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 10 * time.Minute
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 10_000
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 256
	}
	g := &Gateway{
		h: h, o: o, words: newWords(o), sessions: newSessions(o.MaxSessions, o.IdleTimeout), deadlines: deadlines{after: o.CallTimeout}, fronts: make(map[*front]struct{}),
	}
	g.ctx, g.cancel = context.WithCancel(h.Context())
	return g
}

// Close cancels all calls, waits for their end in the host, ends all sessions, and closes the connections of WebSocket,
// SSE and gRPC, in some seconds at most. Requests that come later are refused. It doesn't wait for answers to POSTs that
// are being written: the http.Server's Shutdown does.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	ends := g.ends
	g.ends = nil
	g.mu.Unlock()
	g.cancel()
	g.deadlines.close()
	g.running.Wait()
	for _, s := range g.sessions.close() {
		s.end("closed")
	}
	g.conns.Range(func(_, a any) bool {
		a.(*agent).end("closed")
		return true
	})
	for _, f := range g.connected() {
		f.end("closed")
	}
	var wg sync.WaitGroup
	for _, end := range ends {
		wg.Go(end)
	}
	wg.Wait()
}

// connected are the fronts of all connections that are open.
func (g *Gateway) connected() []*front {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Keys(g.fronts))
}

// enter reports whether a call may begin; if so, g.running.Done follows it.
func (g *Gateway) enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

// Attach makes each TCP connection of srv the session of its modern requests (O4). Hooks that srv already has are
// kept. Without Attach, each modern request is a session of its own.
func (g *Gateway) Attach(srv *http.Server) {
	context0, state0 := srv.ConnContext, srv.ConnState
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if context0 != nil {
			ctx = context0(ctx, c)
		}
		return g.connContext(ctx, c)
	}
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if state0 != nil {
			state0(c, state)
		}
		g.connState(c, state)
	}
}

type connKey struct{ g *Gateway }

func (g *Gateway) connContext(ctx context.Context, c net.Conn) context.Context {
	a := &agent{g: g, via: viaHTTP}
	g.conns.Store(c, a)
	return context.WithValue(ctx, connKey{g}, a)
}

// connState ends the session of a connection that has ended.
func (g *Gateway) connState(c net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	if a, ok := g.conns.LoadAndDelete(c); ok {
		a.(*agent).end("disconnected")
	}
}
