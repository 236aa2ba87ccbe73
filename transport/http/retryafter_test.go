package http

import (
	"errors"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// C5: what a refusal says of when to come again, with and without a JSON-RPC error.
func TestRetryAfter(t *testing.T) {
	for _, body := range []string{"slow down", `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"slow down"}}`} {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Retry-After", "7")
			writeJSON(w, 429, body)
		})
		c := connect(t, Options{URL: s.URL})
		_, err := c.Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
		sent := c.Send(within(t, 5*time.Second), mcp.Notification("notifications/test", nil))
		for _, err := range []error{err, sent} {
			if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != 429 || e.RetryAfter != 7*time.Second {
				t.Errorf("%q: %#v", body, err)
			}
		}
	}
}
