package http

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// sessions is a legacy server: it gives ids and writes down what it was sent.
type sessions struct {
	mu     sync.Mutex
	log    []string
	refuse func(w nethttp.ResponseWriter, id mcp.ID) // of requests that bear an id; nil: none is refused
}

func (s *sessions) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	line := r.Method
	var m *mcp.Message
	if r.Method == nethttp.MethodPost {
		m = readMessage(r)
		line = m.Method
	}
	s.mu.Lock()
	s.log = append(s.log, strings.TrimSpace(line+" "+r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Mcp-Protocol-Version")))
	refuse := s.refuse
	s.mu.Unlock()
	switch {
	case m == nil || m.ID == "":
		w.WriteHeader(202)
	case m.Method == mcp.MethodInitialize:
		w.Header().Set("Mcp-Session-Id", "s-1")
		writeAnswer(w, m)
	case refuse != nil && r.Header.Get("Mcp-Session-Id") != "":
		refuse(w, m.ID)
	default:
		writeAnswer(w, m)
	}
}

func (s *sessions) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "; ")
}

func shakeHands(t *testing.T, c *conn) {
	t.Helper()
	if _, err := c.Handle(within(t, 5*time.Second), mcp.Request("1", mcp.MethodInitialize, nil), mcp.Nobody); err != nil {
		t.Fatal(err)
	}
}

func TestSession(t *testing.T) { // B2, case-019
	srv := new(sessions)
	c := connect(t, Options{URL: serve(t, srv.ServeHTTP).URL})
	ctx := within(t, 5*time.Second)
	shakeHands(t, c)
	req := call(2)
	req.Mirror = &mcp.Mirror{Revision: "2025-06-18"}
	if _, err := c.Handle(ctx, req, mcp.Nobody); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(ctx, mcp.Notification(mcp.NotifyCancelled, nil)); err != nil {
		t.Fatal(err)
	}
	shakeHands(t, c) // anew: without id
	_ = c.Close()
	_ = c.Close()
	want := "initialize; tools/call s-1 2025-06-18; notifications/cancelled s-1 2025-06-18; initialize; DELETE s-1 2025-06-18"
	if got := srv.seen(); got != want {
		t.Errorf("the server saw\n%s, want\n%s", got, want)
	}
}

func TestSessionExpired(t *testing.T) { // C6, case-053, case-083
	for name, refuse := range map[string]func(nethttp.ResponseWriter, mcp.ID){
		"404": func(w nethttp.ResponseWriter, _ mcp.ID) { nethttp.Error(w, "gone", 404) },
		"404 events": func(w nethttp.ResponseWriter, _ mcp.ID) {
			w.Header().Set("Content-Type", typeEvents)
			w.WriteHeader(404)
		},
		"400 in JSON": func(w nethttp.ResponseWriter, _ mcp.ID) { // server-everything
			writeJSON(w, 400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		},
		"400 in words": func(w nethttp.ResponseWriter, _ mcp.ID) { nethttp.Error(w, "Invalid session", 400) },
	} {
		srv := &sessions{refuse: refuse}
		c := connect(t, Options{URL: serve(t, srv.ServeHTTP).URL})
		shakeHands(t, c)
		m, err := c.Handle(within(t, 5*time.Second), call(2), mcp.Nobody)
		if m != nil || !errors.Is(err, transport.ErrSessionExpired) {
			t.Errorf("%s: %v", name, err)
		}
		sent := srv.seen()
		if _, err := c.Handle(within(t, 5*time.Second), call(3), mcp.Nobody); !errors.Is(err, transport.ErrSessionExpired) {
			t.Errorf("%s: a call of the session that is over: %v", name, err)
		}
		if now := srv.seen(); now != sent {
			t.Errorf("%s: the server saw %s", name, now)
		}
		_ = c.Close()
		if got := srv.seen(); strings.Contains(got, "DELETE") {
			t.Errorf("%s: a session that is gone was deleted: %s", name, got)
		}
	}
}

func TestSessionStaysThroughOtherErrors(t *testing.T) {
	for name, refuse := range map[string]func(nethttp.ResponseWriter, mcp.ID){
		"another 400": func(w nethttp.ResponseWriter, _ mcp.ID) { nethttp.Error(w, "no", 400) },
		"500":         func(w nethttp.ResponseWriter, _ mcp.ID) { nethttp.Error(w, "session not found", 500) },
		"a tool's session": func(w nethttp.ResponseWriter, id mcp.ID) {
			writeJSON(w, 400, `{"jsonrpc":"2.0","id":`+string(id)+`,"error":{"code":-32602,"message":"unknown session_name"}}`)
		},
		"unknown method": func(w nethttp.ResponseWriter, id mcp.ID) {
			writeJSON(w, 404, `{"jsonrpc":"2.0","id":`+string(id)+`,"error":{"code":-32601,"message":"no such method"}}`)
		},
	} {
		srv := &sessions{refuse: refuse}
		c := connect(t, Options{URL: serve(t, srv.ServeHTTP).URL})
		shakeHands(t, c)
		_, err := c.Handle(within(t, 5*time.Second), call(2), mcp.Nobody)
		if _, ok := errors.AsType[*transport.StatusError](err); !ok || errors.Is(err, transport.ErrSessionExpired) {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close()
		if got := srv.seen(); !strings.HasSuffix(got, "DELETE s-1") {
			t.Errorf("%s: the server saw %s", name, got)
		}
	}
}

// Without an id a 404 is no lost session.
func TestNoSession404(t *testing.T) {
	c := connect(t, Options{URL: serve(t, nethttp.NotFound).URL})
	_, err := c.Handle(within(t, 5*time.Second), call(2), mcp.Nobody)
	if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != 404 || errors.Is(err, transport.ErrSessionExpired) {
		t.Error(err)
	}
}

func TestSessionIDIsChecked(t *testing.T) {
	for id, good := range map[string]bool{
		strings.Repeat("x", 1024): true, strings.Repeat("x", 1025): false, "a b": false, "ä": false, "!~": true,
	} {
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.Method == nethttp.MethodPost {
				w.Header().Set("Mcp-Session-Id", id)
				writeAnswer(w, readMessage(r))
			}
		})
		c := connect(t, Options{URL: s.URL})
		_, err := c.Handle(within(t, 5*time.Second), mcp.Request("1", mcp.MethodInitialize, nil), mcp.Nobody)
		if _, ok := errors.AsType[*transport.Broken](err); ok == good {
			t.Errorf("%.20q: %v", id, err)
		}
		if kept, _ := c.session.get(); (kept == id) != good {
			t.Errorf("%.20q: kept %.20q", id, kept)
		}
	}
}

// A goroutine that comes late with an old id must not drop the one that another has got meanwhile (case-057).
func TestSessionDropIsCompared(t *testing.T) {
	s := &session{id: "new"}
	s.drop("old")
	if id, _ := s.get(); id != "new" {
		t.Errorf("id = %q", id)
	}
}

func TestCloseIsBounded(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodDelete {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Mcp-Session-Id", "s-1")
		writeAnswer(w, readMessage(r))
	})
	c := connect(t, Options{URL: s.URL})
	shakeHands(t, c)
	start := time.Now()
	_ = c.Close()
	if took := time.Since(start); took < deleteTimeout/2 || took > deleteTimeout+closeTimeout {
		t.Errorf("Close took %v", took)
	}
}

func TestCloseEndsAll(t *testing.T) {
	begun := make(chan struct{})
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		readMessage(r)
		startEvents(w)
		close(begun)
		<-r.Context().Done()
	})
	c := connect(t, Options{URL: s.URL})
	received, handled := make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.Receive(context.Background()); received <- err }()
	go func() { _, err := c.Handle(context.Background(), call(1), mcp.Nobody); handled <- err }()
	<-begun
	_ = c.Close()
	if err := <-received; err != io.EOF {
		t.Errorf("Receive: %v", err)
	}
	if err := <-handled; !errors.Is(err, errClosed) || errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Handle: %v", err)
	}
	if _, err := c.Handle(t.Context(), call(2), mcp.Nobody); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Handle after Close: %v", err)
	}
	if err := c.Send(t.Context(), mcp.Notification("x", nil)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send after Close: %v", err)
	}
	if _, err := c.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive after Close: %v", err)
	}
}

func TestReceiveEndsWithItsContext(t *testing.T) {
	c := connect(t, Options{URL: "http://127.0.0.1:1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receive(ctx); err != context.Canceled {
		t.Error(err)
	}
}
