package sse

import (
	"errors"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/usher-mcp/usher/transport"
)

// C5: what a refusal says of when to come again: of the stream, and of a message.
func TestRetryAfter(t *testing.T) {
	open := &scripted{say: says(endpointEvent)}
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodGet && r.URL.Path == "/" {
			open.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "7")
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(429)
	}))
	for _, path := range []string{"/refused", "/stream"} {
		_, err := newTransport(t, Options{URL: s.URL + path}).Connect(bounded(t))
		wantAfter(t, path, err)
	}
	wantAfter(t, "post", connect(t, s.URL).Send(bounded(t), request(1, "echo", 1)))
}

func wantAfter(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != 429 || e.RetryAfter != 7*time.Second {
		t.Errorf("%s: %#v", what, err)
	}
}
