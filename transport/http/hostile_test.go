package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// dripping begins a body that never ends.
func dripping(w nethttp.ResponseWriter, r *nethttp.Request, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<p>")
	_ = nethttp.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// B2: the status says that a notification was taken; what the server then goes on to say isn't waited for.
func TestSendDoesNotWaitForTheBody(t *testing.T) {
	for _, status := range []int{200, 202} {
		c := connect(t, Options{URL: serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			_ = readMessage(r)
			dripping(w, r, status)
		}).URL})
		started := time.Now()
		if err := c.Send(within(t, 20*time.Second), mcp.Notification(mcp.NotifyCancelled, nil)); err != nil {
			t.Error(err)
		}
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("%d: it took %v", status, took)
		}
	}
}

// B2: a refusal of the rest of a stream whose body never comes doesn't hold up the call.
func TestResumeDoesNotWaitForTheBody(t *testing.T) {
	c := connect(t, Options{URL: serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodPost {
			_ = readMessage(r)
			startEvents(w)
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
			return
		}
		w.Header().Set("Content-Length", "1000")
		dripping(w, r, 405)
	}).URL})
	started := time.Now()
	_, err := c.Handle(within(t, 20*time.Second), call(7), mcp.Nobody)
	if !errors.Is(err, ErrCut) || time.Since(started) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(started), err)
	}
}

// C6: once anything has told that the session is over, every request says so: a server answers one without an id with a
// 400 that tells nothing.
func TestExpiredStaysExpired(t *testing.T) {
	var bare atomic.Int32
	c := connect(t, Options{URL: serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if m := readMessage(r); m.Method == mcp.MethodInitialize {
			w.Header().Set("Mcp-Session-Id", "s-1")
			writeAnswer(w, m)
			return
		}
		if r.Header.Get("Mcp-Session-Id") == "" {
			bare.Add(1)
			writeJSON(w, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Mcp-Session-Id header is required"}}`)
			return
		}
		w.WriteHeader(404)
	}).URL})
	shakeHands(t, c)
	ctx := within(t, 10*time.Second)
	if err := c.Send(ctx, mcp.Notification(mcp.NotifyCancelled, nil)); !errors.Is(err, transport.ErrSessionExpired) {
		t.Fatal(err)
	}
	for range 2 {
		_, err := c.Handle(ctx, call(2), mcp.Nobody)
		if !errors.Is(err, transport.ErrSessionExpired) || !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("a call of the session that is over: %v", err)
		}
	}
	if n := bare.Load(); n != 0 {
		t.Errorf("%d requests went out without the session's id", n)
	}
	shakeHands(t, c) // a new session takes its place
	if _, err := c.Handle(ctx, call(2), mcp.Nobody); errors.Is(err, transport.ErrNotSent) {
		t.Error(err)
	}
}

// B2: a server that ends each connection after one event, and asks to be asked again at once, is asked once a second in
// the end, not a hundred times.
func TestReconnectsSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gets int
		c := connect(t, Options{URL: "http://mcp.invalid/", Client: &nethttp.Client{Transport: roundTrip(func(r *nethttp.Request) *nethttp.Response {
			body := ""
			if r.Method == nethttp.MethodGet {
				gets++
				body = fmt.Sprintf("id: %d\nretry: 0\n%s", gets, progress(gets))
			} else if readMessage(r).IsRequest() {
				body = "id: 0\nretry: 0\ndata:\n\n"
			}
			return events(body)
		})}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Handle(ctx, call(7), mcp.Nobody)
		if !errors.Is(err, context.DeadlineExceeded) || gets < 30 || gets > 80 {
			t.Errorf("an answer's stream: %d GETs in a minute, %v", gets, err)
		}
		gets = 0
		n := mcp.Notification(mcp.NotifyInitialized, nil)
		n.Mirror = &mcp.Mirror{Revision: mcp.Revision20251125}
		if err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		until, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for until.Err() == nil {
			_, _ = c.Receive(until)
		}
		if gets < 30 || gets > 80 {
			t.Errorf("the standalone stream: %d GETs in a minute", gets)
		}
		_ = c.Close()
	})
}

type roundTrip func(*nethttp.Request) *nethttp.Response

func (f roundTrip) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) { return f(r), nil }

func events(body string) *nethttp.Response {
	return &nethttp.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: nethttp.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}
