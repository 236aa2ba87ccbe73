package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// refused is an initialize that the server answered, but with an error.
type refused struct {
	error
	modern bool // an error that only a modern server sends
}

func (r *refused) Unwrap() error { return r.error }

func isRefused(err error) bool {
	_, ok := errors.AsType[*refused](err)
	return ok || isRefusal(err)
}

// fallBack says why a failed handshake is one of a server of 2024-11-05 (2025-11-25, "Backwards compatibility");
// empty if it isn't. Credentials that are missing, and errors that a modern server sends, are no such reason.
func fallBack(err error) string {
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok || errors.Is(err, transport.ErrSessionExpired) {
		return ""
	}
	if r, ok := errors.AsType[*refused](err); ok && r.modern {
		return ""
	}
	if m, err := mcp.Parse(status.Body); err == nil && m.Error != nil && isModernError(m.Err()) {
		return ""
	}
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return "initialize was answered with HTTP status " + strconv.Itoa(status.Status) + ", so the way of 2024-11-05 was tried"
	}
	return ""
}

// dialOld connects by Options.Fallback, after the first way failed with first. If that fails too, the error tells both,
// the first one first.
func dialOld(ctx context.Context, o Options, done *steps, first *fault.Error, why string) (*Session, error) {
	s, err := open(ctx, o.Fallback, o, done, "connect by HTTP+SSE")
	if err == nil {
		if err = s.initialize(ctx, why); err == nil {
			s.way.info.Fallback = true
			return s, nil
		}
		second := s.connectFailure(ctx, err)
		_ = s.Close()
		err = second
	}
	both := *first
	second := fault.Of(err)
	both.Detail += "; then by HTTP+SSE: " + or(second.Detail, string(second.Kind))
	both.Cause = errors.Join(first.Cause, second)
	if second.Kind == fault.Auth { // it was the right way, then
		both.Kind, both.Hint = second.Kind, second.Hint
	}
	return nil, &both
}
