package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// ServerOptions say what a server serves.
type ServerOptions struct {
	// Open makes the Handler of a session that a client asks for. ctx is the session's. An error refuses the client: a
	// *transport.StatusError of 401 or 403 as such, with its Body as the reason; any other as unavailable, with a text
	// that the client doesn't see. end, if not nil, is called when the session is over and its calls have ended.
	Open func(ctx context.Context, c Client) (h mcp.Handler, end func(), err error)
	// TLS with at least a certificate; nil: plaintext. To ask for client certificates is up to it.
	TLS *tls.Config
	// MaxSessions bounds the sessions at once, of all clients. 0: 256.
	MaxSessions int
	// Stall is how long a client may take to take one message before its session ends. 0: 1 minute.
	Stall time.Duration
	// Ping is after how much silence a client is asked whether it lives; it has 15 s, or as long as Ping if that is less,
	// to answer. 0: 30 s; at least 1 s.
	Ping time.Duration
}

// Client is who asks for a session.
type Client struct {
	Header map[string][]string  // its metadata, with lower-case names
	Addr   net.Addr             // where it comes from
	TLS    *tls.ConnectionState // nil: it came in plaintext
}

const (
	defaultSessions = 256
	defaultStall    = time.Minute

	maxStreams     = 256 // of one connection; sessions, health checks and reflection
	handshakeTime  = 10 * time.Second
	idleConnection = 5 * time.Minute // a connection without a stream is closed
	drainTime      = time.Second     // for the last bytes of sessions that have ended
	minPing        = 5 * time.Second // gRPC's clients ask every 10 s at most; who asks more often than this is cut off
)

// Server is a gRPC server for MCP sessions, health checks (grpc.health.v1, for "" and for the MCP service) and reflection
// (grpc.reflection.v1 and v1alpha). Health checks and reflection ask for no credentials but TLS's.
// The requests of all sessions that wait for an answer have at most 1 GiB; one more is refused. Frames that are still
// being read don't count: each session may have one, of up to 32 MiB.
type Server struct {
	o      ServerOptions
	grpc   *gogrpc.Server
	health *health.Server
	held   atomic.Int64 // by all sessions; duplex.Share

	mu       sync.Mutex
	sessions int
	ending   bool          // by Shutdown
	stopping chan struct{} // closed when ending
	idle     chan struct{} // closed when ending and sessions is 0
}

// NewServer makes a Server that serves nothing yet.
func NewServer(o ServerOptions) *Server {
	if o.MaxSessions <= 0 {
		o.MaxSessions = defaultSessions
	}
	if o.Stall <= 0 {
		o.Stall = defaultStall
	}
	if o.Ping <= 0 {
		o.Ping = defaultPing
	}
	s := &Server{o: o, health: health.NewServer(), stopping: make(chan struct{}), idle: make(chan struct{})}
	s.grpc = gogrpc.NewServer(s.options()...)
	mcpv1.RegisterMcpServer(s.grpc, &service{s: s})
	healthv1.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(mcpv1.Mcp_ServiceDesc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	reflection.Register(s.grpc)
	return s
}

func (s *Server) options() []gogrpc.ServerOption {
	secure := insecure.NewCredentials()
	if s.o.TLS != nil {
		secure = credentials.NewTLS(s.o.TLS) // clones it
	}
	return []gogrpc.ServerOption{
		gogrpc.Creds(secure),
		gogrpc.MaxRecvMsgSize(maxFrame),
		gogrpc.MaxSendMsgSize(maxFrame),
		gogrpc.MaxConcurrentStreams(maxStreams),
		gogrpc.MaxHeaderListSize(maxMetadata),
		gogrpc.ConnectionTimeout(handshakeTime),
		gogrpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idleConnection, Time: s.o.Ping, Timeout: min(s.o.Ping, pingTimeout),
		}),
		gogrpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		gogrpc.WaitForHandlers(true),
	}
}

// Serve takes connections from l until Shutdown (then it returns nil) or until l fails. It closes l. It may be called
// for several listeners at once: gRPC runs over TCP and Unix sockets alike.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(l)
	if errors.Is(err, gogrpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Shutdown closes the listeners and begins no session and no request any more. What runs has five seconds to be answered,
// then it is cancelled, and the sessions end with OK; who still watches the health then is cut off. When ctx ends first,
// all connections are cut and its cause is returned. Either way, nothing runs any more when Shutdown returns, but for a
// handler that ignores its context.
func (s *Server) Shutdown(ctx context.Context) error {
	s.endSessions()
	s.health.Shutdown()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.grpc.GracefulStop()
	}()
	select {
	case <-drained:
		return nil
	case <-s.idle:
	case <-ctx.Done():
		s.grpc.Stop()
		<-drained
		return context.Cause(ctx)
	}
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
	case <-ctx.Done():
	}
	s.grpc.Stop()
	<-drained
	return nil
}

func (s *Server) endSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return
	}
	s.ending = true
	close(s.stopping)
	if s.sessions == 0 {
		close(s.idle)
	}
}

// enter counts a session until leave, or says why there can't be one more.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return status.Error(codes.Unavailable, "the server is about to stop")
	case s.sessions >= s.o.MaxSessions:
		return status.Error(codes.ResourceExhausted, "the server has too many sessions; try later")
	}
	s.sessions++
	return nil
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions--; s.sessions == 0 && s.ending {
		close(s.idle)
	}
}
