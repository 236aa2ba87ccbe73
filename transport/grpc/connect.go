package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// client is the Transport that New returns. It is never written to after New.
type client struct {
	address address
	o       Options
	md      metadata.MD
	secrets []string // in md
}

var _ transport.Transport = (*client)(nil)

// Connect opens a socket and a session on it, and waits until the server has accepted the session. A server that refuses
// the credentials is a *transport.StatusError with 401 or 403, what HTTP would have said. All other errors wrap
// transport.ErrNotSent, also the cause of a ctx that ended. Nothing is tried twice: a refused connection fails at once,
// although gRPC could wait.
func (t *client) Connect(ctx context.Context) (transport.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, notSent(err)
	}
	cc, err := gogrpc.NewClient(t.address.target(t.o.Dial != nil), t.options()...)
	if err != nil {
		return nil, notSent(t.clean(err))
	}
	life, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	stream, err := t.open(life, cc)
	if !stop() || err != nil {
		cancel()
		_ = cc.Close()
		if cause := context.Cause(ctx); cause != nil {
			return nil, notSent(cause)
		}
		return nil, t.refused(err)
	}
	return newConn(t, cc, stream, cancel), nil
}

// open starts the stream and waits for the server's metadata, which is its consent.
func (t *client) open(ctx context.Context, cc *gogrpc.ClientConn) (mcpv1.Mcp_SessionClient, error) {
	stream, err := mcpv1.NewMcpClient(cc).Session(metadata.NewOutgoingContext(ctx, t.md))
	if err != nil {
		return nil, err
	}
	md, err := stream.Header()
	if err == nil && md == nil { // it has ended already
		if _, err = stream.Recv(); err == nil {
			err = errors.New("the server sent a message before it accepted the session")
		}
	}
	return stream, err
}

func (t *client) options() []gogrpc.DialOption {
	o := []gogrpc.DialOption{
		gogrpc.WithTransportCredentials(t.credentials()),
		gogrpc.WithKeepaliveParams(keepalive.ClientParameters{Time: t.o.Ping, Timeout: min(t.o.Ping, pingTimeout)}),
		gogrpc.WithDefaultCallOptions(
			gogrpc.MaxCallRecvMsgSize(maxFrame), gogrpc.MaxCallSendMsgSize(maxFrame), gogrpc.StaticMethod()),
		gogrpc.WithMaxHeaderListSize(maxMetadata),
		gogrpc.WithUserAgent("usher"),
		gogrpc.WithDisableRetry(),
		gogrpc.WithDisableServiceConfig(), // which would come from DNS
		gogrpc.WithIdleTimeout(0),
	}
	switch {
	case t.address.scheme == schemeUnix:
		o = append(o, gogrpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", t.address.host)
		}))
	case t.o.Dial != nil:
		o = append(o, gogrpc.WithContextDialer(t.o.Dial))
	}
	return o
}

func (t *client) credentials() credentials.TransportCredentials {
	switch {
	case t.o.TLS != nil:
		return credentials.NewTLS(t.o.TLS) // clones it
	case t.address.scheme == schemeTLS:
		return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	return insecure.NewCredentials()
}
