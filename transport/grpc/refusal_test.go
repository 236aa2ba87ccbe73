package grpc

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gogrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// doorman lets in who knows the word.
func doorman(_ context.Context, c Client) (mcp.Handler, func(), error) {
	switch got := strings.Join(c.Header["authorization"], ","); got {
	case "Bearer sesame-opens":
		return transporttest.Echo(), nil, nil
	case "":
		return nil, nil, &transport.StatusError{Status: nethttp.StatusUnauthorized, Body: []byte("say the word")}
	default: // some servers say what they were told
		return nil, nil, &transport.StatusError{Status: nethttp.StatusForbidden, Body: []byte("not \x1b[31m" + got)}
	}
}

// B7: a bearer token; what HTTP would say with 401 and 403.
func TestCredentials(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: doorman})
	c := connect(t, Options{URL: url, Header: map[string][]string{"Authorization": {"Bearer sesame-opens"}}})
	if got := answer(t, c, "echo", `{}`); string(got.Result) != `{}` {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct {
		word   string
		status int
		body   string
	}{{"", 401, "say the word"}, {"Bearer please-open", 403, "not …"}} {
		o := Options{URL: url}
		if c.word != "" {
			o.Header = map[string][]string{"Authorization": {c.word}}
		}
		_, err := newTransport(t, o).Connect(within(t, 5*time.Second))
		e, ok := errors.AsType[*transport.StatusError](err)
		if !ok || e.Status != c.status || string(e.Body) != c.body {
			t.Errorf("%q: %v, %+v", c.word, err, e)
		}
	}
}

// The token runs out in the midst of a session.
func TestCredentialsRunOut(t *testing.T) {
	t.Parallel()
	c := connect(t, Options{URL: serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error {
		_ = stream.SendHeader(nil)
		_, _ = stream.Recv()
		return status.Error(codes.Unauthenticated, "too old")
	})})
	send(t, c, mcp.Notification("n", nil))
	_, err := c.Receive(within(t, 5*time.Second))
	if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != 401 {
		t.Errorf("the session ended with %v", err)
	}
}

// Open fails, or panics: the client learns no detail, and the server goes on (A5).
func TestOpenFails(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: func(_ context.Context, c Client) (mcp.Handler, func(), error) {
		switch strings.Join(c.Header["how"], "") {
		case "panic":
			panic("sesame-opens")
		case "error":
			return nil, nil, errors.New("sesame-opens")
		}
		return transporttest.Echo(), nil, nil
	}})
	for _, how := range []string{"panic", "error"} {
		o := Options{URL: url, Header: map[string][]string{"how": {how}}}
		_, err := newTransport(t, o).Connect(within(t, 5*time.Second))
		if !errors.Is(err, transport.ErrNotSent) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", how, err)
		}
	}
	connect(t, Options{URL: url})
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l := listenTCP(t)
	_ = l.Close()
	for _, url := range []string{"grpc://" + l.Addr().String(), "unix://" + t.TempDir() + "/none.sock"} {
		_, err := newTransport(t, Options{URL: url}).Connect(within(t, 5*time.Second))
		if !errors.Is(err, transport.ErrNotSent) || !strings.Contains(err.Error(), "can't be reached") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A gRPC server without our service, and a web server.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	l := listenTCP(t)
	s := gogrpc.NewServer()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	web := httptest.NewServer(nethttp.NotFoundHandler())
	t.Cleanup(web.Close)
	h2 := httptest.NewUnstartedServer(nethttp.NotFoundHandler())
	h2.EnableHTTP2 = true
	h2.StartTLS()
	t.Cleanup(h2.Close)
	tlsConfig := h2.Client().Transport.(*nethttp.Transport).TLSClientConfig.Clone()
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{URL: "grpc://" + l.Addr().String()}, "doesn't speak Usher's MCP over gRPC"},
		{Options{URL: "grpcs://" + h2.Listener.Addr().String(), TLS: tlsConfig}, "doesn't speak Usher's MCP over gRPC"},
		{Options{URL: "grpc://" + web.Listener.Addr().String()}, "can't be reached"},
	} {
		_, err := newTransport(t, c.o).Connect(within(t, 5*time.Second))
		if !errors.Is(err, transport.ErrNotSent) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.o.URL, err, c.want)
		}
	}
}

// ctx bounds Connect wherever it hangs, and only Connect.
func TestConnectContext(t *testing.T) {
	t.Parallel()
	silent := listenTCP(t) // takes connections into its backlog, and no more
	t.Cleanup(func() { _ = silent.Close() })
	release := newGate()
	t.Cleanup(release.open)
	mute := serveRaw(t, func(stream mcpv1.Mcp_SessionServer) error { // accepts no session
		<-release.c
		return nil
	})
	why := errors.New("enough")
	for _, o := range []Options{
		{URL: "grpc://" + silent.Addr().String()},
		{URL: mute},
		{URL: "grpc://example.com:1", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
		_, err := newTransport(t, o).Connect(ctx)
		cancel()
		if !errors.Is(err, why) {
			t.Errorf("%s: Connect ended with %v", o.URL, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tr := newTransport(t, Options{URL: serve(t, ServerOptions{Open: always(transporttest.Echo())})})
	c, err := tr.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	cancel()
	answer(t, c, "echo", `{}`)
	if _, err := tr.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Connect with an ended context: %v", err)
	}
}

// Dial gets the host as it is written, so that who gives it can judge what the name turns out to be.
func TestDial(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: always(transporttest.Echo())})
	asked := make(chan string, 1)
	c := connect(t, Options{URL: "grpc://mcp.example:50051", Dial: func(ctx context.Context, address string) (net.Conn, error) {
		asked <- address
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "grpc://"))
	}})
	answer(t, c, "echo", `{}`)
	if got := <-asked; got != "mcp.example:50051" {
		t.Errorf("Dial was asked for %s", got)
	}
}

// A server's words are bounded and printable.
func TestWords(t *testing.T) {
	t.Parallel()
	_, err := newTransport(t, Options{URL: serveRaw(t, func(mcpv1.Mcp_SessionServer) error {
		return status.Error(codes.Internal, "\x1b[31mred\n"+strings.Repeat("w", 5000))
	})}).Connect(within(t, 5*time.Second))
	if !errors.Is(err, transport.ErrNotSent) || len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("got %d bytes: %.100q", len(err.Error()), err)
	}
}
