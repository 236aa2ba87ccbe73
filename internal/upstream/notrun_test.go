package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/transport"
)

// C4, C5, D3: what proves that a call did not run, and nothing else.
func TestNotRun(t *testing.T) {
	status := func(code int) error {
		return &fault.Error{Kind: fault.ServerError, Cause: fmt.Errorf("posting: %w", &transport.StatusError{Status: code, RetryAfter: 3 * time.Second})}
	}
	unsent := fmt.Errorf("%w: %w", transport.ErrNotSent, io.EOF)
	for name, c := range map[string]struct {
		err   error
		want  bool
		after time.Duration
	}{
		"unsent":           {err: unsent, want: true},
		"unsent, a fault":  {err: &fault.Error{Kind: fault.Unavailable, Cause: unsent}, want: true},
		"expired":          {err: fmt.Errorf("%w: %w", transport.ErrSessionExpired, status(404)), want: true},
		"expired, a fault": {err: &fault.Error{Kind: fault.SessionExpired, Cause: transport.ErrSessionExpired}, want: true},
		"429":              {err: status(429), want: true, after: 3 * time.Second},
		"408":              {err: status(408), want: true, after: 3 * time.Second},

		"none":            {},
		"400":             {err: status(400)},
		"401":             {err: status(401)},
		"404":             {err: status(404)}, // without a session
		"409":             {err: status(409)},
		"425":             {err: status(425)},
		"500":             {err: status(500)},
		"502":             {err: status(502)},
		"503":             {err: status(503)}, // whoever says so may stand behind the server's back
		"504":             {err: status(504)},
		"200, a page":     {err: status(200)},
		"cut":             {err: io.ErrUnexpectedEOF},
		"cancelled":       {err: context.Canceled},
		"too late":        {err: &fault.Error{Kind: fault.Timeout, Cause: context.DeadlineExceeded}},
		"unavailable":     {err: &fault.Error{Kind: fault.Unavailable}}, // a word without a proof
		"session expired": {err: &fault.Error{Kind: fault.SessionExpired}},
		"restarted":       {err: &fault.Error{Kind: fault.Restarted, Cause: errors.New(transport.ErrNotSent.Error())}},
		"broken":          {err: &transport.Broken{Reason: io.EOF}},
	} {
		if yes, after := notRun(c.err); yes != c.want || after != c.after {
			t.Errorf("%s: %v, %v; want %v, %v", name, yes, after, c.want, c.after)
		}
	}
}
