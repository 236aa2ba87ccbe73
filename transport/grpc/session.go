package grpc

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// lastAnswers is how long running requests may go on after the client has half-closed, or Shutdown was called.
const lastAnswers = 5 * time.Second

// service is the MCP service as gRPC calls it. It is a type of its own so that Server doesn't show its method.
type service struct {
	mcpv1.UnimplementedMcpServer
	s *Server
}

var _ mcpv1.McpServer = (*service)(nil)

// Session serves one session. It runs on the goroutine of the stream; when it returns, gRPC ends the stream.
func (v *service) Session(stream mcpv1.Mcp_SessionServer) error {
	if err := v.s.enter(); err != nil {
		return err
	}
	defer v.s.leave()
	h, end, err := v.s.open(stream.Context())
	if err != nil {
		return err
	}
	if end != nil {
		defer end()
	}
	if err := stream.SendHeader(nil); err != nil { // the client waits for it
		return err
	}
	return v.s.serve(stream, h)
}

// open asks ServerOptions.Open. A panic of it refuses one client (A5).
func (s *Server) open(ctx context.Context) (h mcp.Handler, end func(), err error) {
	defer func() {
		if recover() != nil {
			err = status.Error(codes.Internal, "the server failed to open a session")
		}
	}()
	var c Client
	c.Header, _ = metadata.FromIncomingContext(ctx)
	if p, ok := peer.FromContext(ctx); ok {
		c.Addr = p.Addr
		if t, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			c.TLS = &t.State
		}
	}
	h, end, err = s.o.Open(ctx, c)
	if err != nil {
		return nil, nil, refusal(err)
	}
	return h, end, nil
}

func refusal(err error) error {
	e, ok := errors.AsType[*transport.StatusError](err)
	switch {
	case ok && e.Status == nethttp.StatusUnauthorized:
		return status.Error(codes.Unauthenticated, string(e.Body))
	case ok && e.Status == nethttp.StatusForbidden:
		return status.Error(codes.PermissionDenied, string(e.Body))
	}
	return status.Error(codes.Unavailable, "the server can't open a session now")
}

var errStalled = errors.New("the client has taken nothing for too long")

// serve returns the status that the client gets.
func (s *Server) serve(stream mcpv1.Mcp_SessionServer, h mcp.Handler) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	in := &source{pump: newPump(), stopping: s.stopping, stopped: make(chan struct{})}
	go in.pump.run(stream.Recv, in.stopped) // ends soon after the return: gRPC then ends Recv
	out := &sink{stream: stream, limit: s.o.Stall}
	out.timer = time.AfterFunc(s.o.Stall, func() { cancel(errStalled) })
	out.timer.Stop()
	err := duplex.Serve(ctx, in, out, h, lastAnswers, &s.held)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errStalled):
		return status.Error(codes.Aborted, errStalled.Error())
	case in.failed() && stream.Context().Err() == nil: // such as a frame of more than 32 MiB; the words are gRPC's
		return in.pump.err
	case stream.Context().Err() != nil:
		return status.FromContextError(stream.Context().Err()).Err()
	}
	return status.Error(codes.Internal, "the session could not be ended in order")
}

// source is what the client sends, and its end when the server is about to stop.
type source struct {
	pump     *pump
	stopping <-chan struct{}
	stopped  chan struct{} // closed by Stop
	once     sync.Once
}

var _ duplex.Source = (*source)(nil)

func (s *source) Next() (duplex.Frame, error) {
	select {
	case f := <-s.pump.frames:
		return f, nil
	case <-s.pump.done:
		return duplex.Frame{}, s.pump.err
	case <-s.stopping:
		return duplex.Frame{}, io.EOF
	case <-s.stopped:
		return duplex.Frame{}, io.EOF
	}
}

func (s *source) Stop() bool {
	s.once.Do(func() { close(s.stopped) })
	return true
}

// failed reports whether reading ended in disorder.
func (s *source) failed() bool {
	select {
	case <-s.pump.done:
		return s.pump.err != io.EOF
	default:
		return false
	}
}

// sink sends to the client. The timer runs while it does.
type sink struct {
	stream mcpv1.Mcp_SessionServer
	limit  time.Duration
	timer  *time.Timer
}

var _ duplex.Sink = (*sink)(nil)

func (s *sink) Write(b *duplex.Batch) error {
	defer s.timer.Stop()
	for m := range b.Messages() {
		s.timer.Reset(s.limit)
		if err := s.stream.Send(&mcpv1.Frame{Json: m}); err != nil { // copies m before it returns
			return err
		}
	}
	return nil
}

// Stop can't end a Send: gRPC does when Session returns.
func (s *sink) Stop() bool { return false }
