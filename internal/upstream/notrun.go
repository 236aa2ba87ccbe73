package upstream

import (
	"errors"
	"net/http"
	"time"

	"github.com/usher-mcp/usher/transport"
)

// notRun reports whether err proves that the server did not run the call (C4, C5, D3): no byte left, its session is over,
// or HTTP status 408 or 429. After is how long the server wants to be left alone, at most an hour; 0: it doesn't say.
//
// The proof is in the chain of err. What the client returns for a call that the server has already begun holds none.
func notRun(err error) (yes bool, after time.Duration) {
	if errors.Is(err, transport.ErrNotSent) || errors.Is(err, transport.ErrSessionExpired) {
		return true, 0
	}
	if e, ok := errors.AsType[*transport.StatusError](err); ok {
		switch e.Status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests:
			return true, e.RetryAfter
		}
	}
	return false, 0
}

// askedToWait is how long a server that refused wants to be left alone, at most an hour; 0: it doesn't say.
func askedToWait(err error) time.Duration {
	if e, ok := errors.AsType[*transport.StatusError](err); ok {
		return e.RetryAfter
	}
	return 0
}
