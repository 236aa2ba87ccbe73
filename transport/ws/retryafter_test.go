package ws

import (
	"errors"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/usher-mcp/usher/transport"
)

// C5: what a refusal says of when to come again.
func TestRetryAfter(t *testing.T) {
	s := listen(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
	}))
	_, err := newTransport(t, Options{URL: s.URL}).Connect(within(t, 5*time.Second))
	if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != 429 || e.RetryAfter != 7*time.Second {
		t.Errorf("%#v", err)
	}
}
