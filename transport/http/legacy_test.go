package http

import (
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// legacy is a server with sessions whose GETs are served by listen, one after the other by number.
type legacy struct {
	id     string // of its session; empty: it has none
	gets   chan nethttp.Header
	posts  chan *mcp.Message // answers
	listen func(n int, w nethttp.ResponseWriter, r *nethttp.Request)
	n      int
	call   func(w nethttp.ResponseWriter, r *nethttp.Request, m *mcp.Message) // nil: writeAnswer
}

func newLegacy(listen func(n int, w nethttp.ResponseWriter, r *nethttp.Request)) *legacy {
	return &legacy{id: "s-1", gets: make(chan nethttp.Header, 100), posts: make(chan *mcp.Message, 100), listen: listen}
}

func (s *legacy) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	switch r.Method {
	case nethttp.MethodGet:
		s.n++ // the client opens one after the other
		s.gets <- r.Header
		s.listen(s.n, w, r)
	case nethttp.MethodPost:
		m := readMessage(r)
		switch {
		case m.Method == mcp.MethodInitialize:
			if s.id != "" {
				w.Header().Set("Mcp-Session-Id", s.id)
			}
			writeAnswer(w, m)
		case m.IsRequest() && s.call != nil:
			s.call(w, r, m)
		case m.IsRequest():
			writeAnswer(w, m)
		default:
			if m.IsAnswer() {
				s.posts <- m
			}
			w.WriteHeader(202)
		}
	}
}

// quick shortens the waits for a server that says nothing of them.
var quick = pace{first: 2 * time.Millisecond, most: 10 * time.Millisecond, least: time.Millisecond, resumes: 5, reopens: 4}

// greet connects and shakes hands as a client of 2025-11-25 does.
func greet(t *testing.T, url string) *conn {
	t.Helper()
	c := connect(t, Options{URL: url})
	c.pace = quick
	shakeHands(t, c)
	initialized(t, c, mcp.Revision20251125)
	return c
}

func initialized(t *testing.T, c *conn, revision string) {
	t.Helper()
	m := mcp.Notification(mcp.NotifyInitialized, nil)
	m.Mirror = &mcp.Mirror{Revision: revision}
	if err := c.Send(within(t, 5*time.Second), m); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c *conn) *mcp.Message {
	t.Helper()
	m, err := c.Receive(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// until waits for a state that Describe tells.
func until(t *testing.T, c *conn, state string) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !strings.Contains(c.Describe().Stream, state) {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("the stream is %q, want %q", c.Describe().Stream, state)
		}
	}
}
