package gosdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/usher-mcp/usher/transport"
)

// Transport makes a Transport to server. Each connection is a session of the server's own; all share its tools.
//
// It adds a receiving middleware to server, for good, that turns a panic of a tool into a failed call; the SDK would let
// it end the process. What a tool starts on goroutines of its own isn't guarded. Server must not be nil.
func Transport(server *sdk.Server) transport.Transport {
	if server == nil {
		panic("gosdk: Transport of a nil server")
	}
	t := &inProcess{server: server}
	server.AddReceivingMiddleware(t.guard)
	return t
}

type inProcess struct {
	server *sdk.Server
	panics atomic.Pointer[string] // the last one, with its stack
}

var _ transport.Transport = (*inProcess)(nil)

// Connect starts a session. It fails if ctx has ended, and takes no time; the session has no values of ctx.
func (t *inProcess) Connect(ctx context.Context) (transport.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	l := newLink()
	session, err := t.server.Connect(context.Background(), l, nil)
	if err != nil {
		return nil, fmt.Errorf("the SDK's server can't be connected: %w", err)
	}
	c := &conn{link: l, of: t, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		_ = session.Wait()  // its end is the link's
		_ = session.Close() // ends its keep-alive
	}()
	return c, nil
}

// guard makes a panic an error answer, whose text doesn't hold its value (A5).
func (t *inProcess) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				text := fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
				t.panics.Store(&text)
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: method + " panicked"}
			}
		}()
		return next(ctx, method, req)
	}
}

// conn is our end of a link.
type conn struct {
	*link
	of    *inProcess
	ended chan struct{} // the session and all its handlers have ended
}

var (
	_ transport.Conn      = (*conn)(nil)
	_ transport.Describer = (*conn)(nil)
)

const closeTime = 4 * time.Second

var errRuns = errors.New("a tool of the server goes on though its call was cancelled")

// Close ends the session: its calls are cancelled, and it is waited for at most 4 s until they have returned. A tool that
// doesn't heed its context may go on after that, which is an error.
func (c *conn) Close() error {
	c.leave()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-c.ended:
		return nil
	case <-late.C:
		return errRuns
	}
}

// Describe tells of the last panic of a handler, under Stderr.
func (c *conn) Describe() transport.Description {
	if text := c.of.panics.Load(); text != nil {
		return transport.Description{Stderr: *text}
	}
	return transport.Description{}
}
