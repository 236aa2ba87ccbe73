package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// exchange is one POST and what comes back. Its context ends with the caller's, with the connection, and with finish.
type exchange struct {
	conn   *conn
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	let    func() bool // parts ctx from the caller's

	session string
	res     *nethttp.Response
	stream  *eventstream.Reader      // what is left to read after the answer; nil: nothing
	other   atomic.Pointer[received] // the answer that came on another stream

	// A RoundTripper that says it looks for a connection, and never that it has one, can't have written anything.
	looked, found atomic.Bool
}

// scope ends with the connection but has the caller's values too. Those of the connection come first, so that package
// context finds its own parent there and needs no goroutine.
type scope struct {
	context.Context
	values context.Context
}

func (s scope) Value(key any) any {
	if v := s.Context.Value(key); v != nil {
		return v
	}
	return s.values.Value(key)
}

// begin starts an exchange. What it returns must be finished.
func (c *conn) begin(ctx context.Context) (*exchange, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, ended(ctx))
	}
	if !c.enter() {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, errClosed)
	}
	x := &exchange{conn: c, caller: ctx}
	x.ctx, x.cancel = context.WithCancelCause(scope{c.life, ctx})
	x.let = context.AfterFunc(ctx, func() { x.cancel(nil) })
	return x, nil
}

// finish ends all that is left of the exchange.
func (x *exchange) finish() {
	x.let()
	x.cancel(nil)
	if x.res != nil {
		_ = x.res.Body.Close()
	}
	if x.stream != nil {
		x.stream.Close()
	}
	x.conn.leave()
}

// post sends m and waits for the head of the answer, which it leaves in x.res.
func (x *exchange) post(m *mcp.Message, mirror mcp.Mirror) error {
	if m.Method != mcp.MethodInitialize {
		x.session, _ = x.conn.session.get()
		if x.session == "" && x.conn.session.isOver() { // a request without the id is refused in words that tell nothing
			return fmt.Errorf("%w: %w", transport.ErrNotSent, transport.ErrSessionExpired)
		}
	}
	header, err := x.conn.headers(mirror, x.session)
	if err != nil {
		return err
	}
	body := m.AppendTo(make([]byte, 0, m.Size()))
	if len(body) > mcp.MaxMessage {
		return fmt.Errorf("%w: the message is longer than 16 MiB", transport.ErrNotSent)
	}
	r := x.conn.template.WithContext(httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		GetConn: func(string) { x.looked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { x.found.Store(true) },
	}))
	r.Header = header
	r.ContentLength = int64(len(body))
	// net/http sends a POST again only if nothing of it went out on the connection before; for that it needs GetBody.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	res, err := x.conn.client.Do(r)
	if err != nil {
		return x.explain("asking the server", err)
	}
	x.res = res
	return nil
}

// tell posts what has no answer.
func (x *exchange) tell(m *mcp.Message, mirror mcp.Mirror) error {
	if err := x.post(m, mirror); err != nil {
		return err
	}
	if !succeeded(x.res) {
		_, err := x.refusal("")
		return err
	}
	if contentType(x.res) != typeEvents {
		drain(x.res)
	}
	return nil
}

// explain says why something failed: the caller gave up, Close was called, or the network's own reason. The URL that
// net/http puts into its errors is left out, for it may hold a key.
func (x *exchange) explain(doing string, err error) error {
	err = dial.WithoutURL(err)
	switch cause := context.Cause(x.ctx); {
	case x.caller.Err() != nil:
		err = ended(x.caller)
	case x.conn.life.Err() != nil:
		err = errClosed
	case cause != nil:
		err = cause
	}
	if x.looked.Load() && !x.found.Load() {
		return &unsent{err}
	}
	return fmt.Errorf("%s failed: %w", doing, err)
}

// unsent wraps transport.ErrNotSent in the words of the network alone: "127.0.0.1:80: connection refused" says all.
type unsent struct{ reason error }

func (u *unsent) Error() string {
	if e, ok := u.reason.(*net.OpError); ok && e.Op == "dial" && e.Addr != nil {
		why := e.Err
		if call, ok := errors.AsType[*os.SyscallError](why); ok {
			why = call.Err
		}
		return e.Addr.String() + ": " + why.Error()
	}
	return u.reason.Error()
}

func (u *unsent) Unwrap() []error { return []error{transport.ErrNotSent, u.reason} }

// ended returns the error of a context that has ended, with its cause if that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
