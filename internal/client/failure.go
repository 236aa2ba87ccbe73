package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func (s *Session) fault(k fault.Kind, format string, args ...any) *fault.Error {
	e := fault.New(k, format, args...)
	e.Server = s.o.Name
	return e
}

// failure sorts an error of the transport (D5).
func (s *Session) failure(ctx context.Context, err error) *fault.Error {
	e := s.sort(ctx, err)
	e.Server = or(e.Server, s.o.Name)
	e.Cause = or(e.Cause, err)
	return e
}

func (s *Session) sort(ctx context.Context, err error) *fault.Error {
	if ctx.Err() != nil && isContextError(err) {
		return contextFault(ctx)
	}
	if errors.Is(err, transport.ErrSessionExpired) {
		return fault.New(fault.SessionExpired, "")
	}
	if e, ok := errors.AsType[*transport.Broken](err); ok {
		return fault.New(brokenKind(e), "%s", s.clean(e.Error()))
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		c := *e
		return &c
	}
	if e, ok := errors.AsType[*transport.StatusError](err); ok {
		return statusFault(e)
	}
	if errors.Is(err, transport.ErrNotSent) {
		return fault.New(fault.Unavailable, "%s", s.death(err))
	}
	return fault.New(fault.Restarted, "%s", s.death(err))
}

// brokenKind: a transport says that a message was too long by a *fault.Error in the Reason.
func brokenKind(b *transport.Broken) fault.Kind {
	if fault.KindOf(b.Reason) == fault.TooLarge {
		return fault.TooLarge
	}
	return fault.Protocol
}

// connectFailure is failure for the handshake, before any call could have been lost.
func (s *Session) connectFailure(ctx context.Context, err error) *fault.Error {
	e := s.failure(ctx, err)
	if e.Kind == fault.Restarted {
		e.Kind = fault.Unavailable
	}
	if status, ok := errors.AsType[*transport.StatusError](err); ok && e.Kind == fault.ServerError && e.Code == 0 {
		e.Detail = fmt.Sprintf("server %s refused the handshake with HTTP status %d", s.o.Name, status.Status)
	}
	return e
}

func statusFault(e *transport.StatusError) *fault.Error {
	f := &fault.Error{Kind: fault.ServerError, Status: e.Status}
	switch {
	case isAuthStatus(e.Status):
		f.Kind, f.Detail = fault.Auth, fmt.Sprintf("it answered with HTTP status %d", e.Status)
		f.Hint = "Check the token or the headers of this server's entry"
	case e.Status < http.StatusMultipleChoices:
		f.Kind, f.Detail = fault.Protocol, fmt.Sprintf("it answered with HTTP status %d and no MCP message", e.Status)
	case e.Status == http.StatusRequestTimeout:
		f.Detail = "the server answered with HTTP status 408: the request reached it too slowly, and was not run"
	case e.Status == http.StatusTooManyRequests:
		f.Detail = "the server answered with HTTP status 429: it gets too many requests, and did not run this one"
		f.Hint = "Try again later"
		if e.RetryAfter > 0 {
			f.Hint = fmt.Sprintf("Try again in %v", e.RetryAfter.Round(time.Second))
		}
	default:
		f.Detail = fmt.Sprintf("the server answered with HTTP status %d; the call may have run", e.Status)
		f.Hint = "If the status stays, check the URL of this server's entry"
	}
	return f
}

// begun is the failure of a call that an earlier request of its own has begun: whatever befell the last one, what the
// server has done of the call must not be done again. So nothing that proves that request unsent stays in the chain (C4).
func begun(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	c := *e
	if c.Cause != nil {
		c.Cause = shut{c.Cause}
	}
	switch {
	case c.Kind == fault.Unavailable:
		c.Kind = fault.Restarted
	case c.Kind == fault.SessionExpired:
		c.Kind, c.Detail = fault.Restarted, "it ended the session meanwhile"
	case isNotRunStatus(c.Status):
		c.Detail = fmt.Sprintf("the server answered with HTTP status %d after it had begun with the call", c.Status)
		c.Hint = ""
	}
	return &c
}

// shut is an error whose chain ends with it, but for what a context ended with.
type shut struct{ error }

// Is lets only contexts be told.
func (s shut) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && errors.Is(s.error, target)
}

func saysNotRun(err error) bool {
	e, ok := errors.AsType[*transport.StatusError](err)
	return ok && isNotRunStatus(e.Status)
}

// isNotRunStatus tells the HTTP statuses that prove that a request was not run (C5).
func isNotRunStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// isRefusal tells an HTTP status that says nothing but no: not who may ask, and not that the session is over.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*transport.StatusError](err)
	return ok && !isAuthStatus(e.Status) && !errors.Is(err, transport.ErrSessionExpired)
}

func isAuthStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

func contextFault(ctx context.Context) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		c := *e
		return &c
	}
	if contextKind(ctx) == fault.Timeout {
		return fault.New(fault.Timeout, "the deadline passed without an answer")
	}
	return fault.New(fault.Cancelled, "the caller gave it up")
}

// contextKind is Timeout also where somebody else's clock cancelled ctx and said so in its cause.
func contextKind(ctx context.Context) fault.Kind {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return fault.Timeout
	}
	if e, ok := errors.AsType[*fault.Error](cause); ok {
		return e.Kind
	}
	return fault.Cancelled
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// serverFault is a JSON-RPC error as an error.
func (s *Session) serverFault(method string, e *mcp.Error) *fault.Error {
	f := s.fault(fault.ServerError, "%s was answered with: %s", method, s.clean(e.Error()))
	f.Code, f.Cause = e.Code, e
	return f
}

// death says how the connection ended: the exit of the process and the last that it wrote, if there is one, else the
// transport's own words.
func (s *Session) death(err error) string {
	if s.conn == nil {
		return s.words(err)
	}
	if errors.Is(err, errClosed) {
		return errClosed.Error()
	}
	d := s.Describe()
	if d.PID != 0 && d.Exit == "" { // its pipe broke a moment before it was seen to exit, which says more
		within(s.over, exitTime)
		d = s.Describe()
	}
	text := d.Exit
	if text == "" {
		text = s.words(err)
	}
	lines := strings.Split(strings.TrimSpace(string(s.o.Redact([]byte(d.Stderr)))), "\n")
	if last := clean(lines[len(lines)-1]); last != "" {
		text += "; its last words: " + last
	}
	return text
}

// exitTime is how long the exit of a process may come after the end of its pipes.
const exitTime = 500 * time.Millisecond

func within(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// words is an error without what the Kind of a fault says already.
func (s *Session) words(err error) string {
	return s.clean(strings.Replace(err.Error(), transport.ErrNotSent.Error()+": ", "", 1))
}

// clean is clean without the secrets that are known.
func (s *Session) clean(text string) string { return clean(string(s.o.Redact([]byte(text)))) }

// clean makes a server's own words fit for one line of ours.
func clean(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}
