package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// resumer serves one call's stream in pieces: the first to the POST, the others to the GETs that follow. A piece that
// ends in "!" is broken off there; other pieces end in order.
type resumer struct {
	pieces []string

	mu   sync.Mutex
	log  []string // method, Last-Event-ID
	when []time.Time
}

func (s *resumer) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method == nethttp.MethodPost && readMessage(r).IsAnswer() {
		w.WriteHeader(202)
		return
	}
	s.mu.Lock()
	n := len(s.log)
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+r.Header.Get("Last-Event-Id")))
	s.when = append(s.when, time.Now())
	s.mu.Unlock()
	piece := s.pieces[min(n, len(s.pieces)-1)]
	var code int
	if k, _ := fmt.Sscanf(piece, "HTTP %d", &code); k == 1 {
		w.WriteHeader(code)
		return
	}
	startEvents(w)
	piece, broken := strings.CutSuffix(piece, "!")
	_, _ = io.WriteString(w, piece)
	_ = nethttp.NewResponseController(w).Flush()
	if broken {
		panic(nethttp.ErrAbortHandler)
	}
}

func (s *resumer) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "; ")
}

func progress(n int) string {
	return fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"n":%d}}`, n) + "\n\n"
}

var finalAnswer = "data: " + answerText("7") + "\n\n"

func TestResume(t *testing.T) { // B2; sse-retry of the conformance suite is the first
	for name, x := range map[string]struct {
		pieces []string
		log    string
		heard  int // progress 1 to heard, in order
	}{
		"priming": {[]string{"id: p\nretry: 10\ndata:\n\n", "id: 1\n" + finalAnswer}, "POST; GET p", 0},
		"broken":  {[]string{"retry: 10\n\nid: 1\n" + progress(1) + "!", "id: 2\n" + progress(2) + "id: 3\n" + finalAnswer}, "POST; GET 1", 2},
		"cut in an event": {[]string{"retry: 10\n\nid: 1\n" + progress(1) + "id: 2\ndata: {\"js!",
			"id: 2\n" + progress(2) + finalAnswer}, "POST; GET 1", 2},
		"all of it again": {[]string{"retry: 10\n\nid: 1\n" + progress(1) + "id: 2\n" + progress(2) + "!",
			"id: 1\n" + progress(1) + "id: 2\n" + progress(2) + "id: 3\n" + progress(3) + "id: 4\n" + finalAnswer}, "POST; GET 2", 3},
		"a primed id that gets data": {[]string{"id: 1\nretry: 10\ndata:\n\n!", "id: 1\n" + progress(1) + finalAnswer}, "POST; GET 1", 1},
		"not now": {[]string{"id: 1\nretry: 10\n" + progress(1) + "!", "HTTP 503", "HTTP 409", "id: 2\n" + finalAnswer},
			"POST; GET 1; GET 1; GET 1", 1},
		"polling": {append(polling(8), "id: z\n"+finalAnswer),
			"POST; GET 0; GET 1; GET 2; GET 3; GET 4; GET 5; GET 6; GET 7", 0},
		"constant ids on one connection": {[]string{"id: 1\n" + progress(1) + "id: 1\n" + progress(2) + "id: 1\n" + finalAnswer}, "POST", 2},
	} {
		s := &resumer{pieces: x.pieces}
		c := connect(t, Options{URL: serve(t, s.ServeHTTP).URL})
		c.pace = quick
		p := peerOf(nil)
		m, err := c.Handle(within(t, 10*time.Second), call(7), p)
		if err != nil || string(m.Result) != `{"ok":true}` {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if got := s.seen(); got != x.log {
			t.Errorf("%s: the server saw %s, want %s", name, got, x.log)
		}
		var want []string
		for i := range x.heard {
			want = append(want, fmt.Sprintf(`notifications/progress{"n":%d}`, i+1))
		}
		if got := p.heard(); !slices.Equal(got, want) {
			t.Errorf("%s: heard %q", name, got)
		}
	}
}

// polling are connections that only prime the next one.
func polling(n int) (pieces []string) {
	for i := range n {
		pieces = append(pieces, fmt.Sprintf("id: %d\nretry: 1\ndata:\n\n", i))
	}
	return pieces
}

func TestResumeWaits(t *testing.T) { // 2025-11-25: the client must respect retry
	const wait = 200 * time.Millisecond
	s := &resumer{pieces: []string{fmt.Sprintf("id: p\nretry: %d\ndata:\n\n", wait.Milliseconds()), finalAnswer}}
	c := connect(t, Options{URL: serve(t, s.ServeHTTP).URL})
	c.pace.first = time.Hour // unless the server says otherwise
	if _, err := c.Handle(within(t, 10*time.Second), call(7), mcp.Nobody); err != nil {
		t.Fatal(err)
	}
	if d := s.when[1].Sub(s.when[0]); d < wait {
		t.Errorf("resumed after %v", d)
	}
}

// What can't be resumed fails as cut off: not as unsent, nor as what the GET was refused with, for the call may have run.
// The call itself is never sent again.
func TestResumeFails(t *testing.T) {
	primed := "id: 1\nretry: 1\ndata:\n\n"
	for name, x := range map[string]struct {
		pieces   []string
		revision string
		log      string
	}{
		"no ids":        {[]string{progress(1) + "!"}, "", "POST"},
		"id taken back": {[]string{primed + "id\n\n"}, "", "POST"},
		"id cut off":    {[]string{"id: 1\ndata: x!"}, "", "POST"},
		"unusable id":   {[]string{"id: a\x01b\ndata:\n\n"}, "", "POST"},
		"blank id":      {[]string{"id:  \ndata:\n\n"}, "", "POST"},
		"long id":       {[]string{"id: " + strings.Repeat("x", 4<<10+1) + "\ndata:\n\n"}, "", "POST"},
		"modern":        {[]string{primed}, mcp.Revision20260728, "POST"},
		"405":           {[]string{primed, "HTTP 405"}, mcp.Revision20251125, "POST; GET 1"},
		"404":           {[]string{primed, "HTTP 404"}, mcp.Revision20251125, "POST; GET 1"},
		"401":           {[]string{primed, "HTTP 401"}, "", "POST; GET 1"},
		"always 503":    {[]string{primed, "HTTP 503"}, "", "POST" + strings.Repeat("; GET 1", quick.resumes)},
		"nothing new":   {[]string{primed}, "", "POST" + strings.Repeat("; GET 1", quick.resumes)},
		"nothing":       {[]string{primed, "!"}, "", "POST" + strings.Repeat("; GET 1", quick.resumes)},
	} {
		s := &resumer{pieces: x.pieces}
		c := connect(t, Options{URL: serve(t, s.ServeHTTP).URL})
		c.pace = quick
		req := call(7)
		req.Mirror = &mcp.Mirror{Revision: x.revision}
		m, err := c.Handle(within(t, 10*time.Second), req, mcp.Nobody)
		_, refused := errors.AsType[*transport.StatusError](err)
		if m != nil || !errors.Is(err, ErrCut) || errors.Is(err, transport.ErrNotSent) ||
			errors.Is(err, transport.ErrSessionExpired) || refused {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.seen(); got != x.log {
			t.Errorf("%s: the server saw %s, want %s", name, got, x.log)
		}
	}
}

// An event that can't be read may have been the answer: then a stream that ended in order has nothing more to give.
func TestResumeBehindAnUnreadableEvent(t *testing.T) {
	for end, resumed := range map[string]bool{"": false, "!": true} {
		s := &resumer{pieces: []string{"id: 1\nretry: 1\ndata: {junk\n\n" + end, finalAnswer}}
		c := connect(t, Options{URL: serve(t, s.ServeHTTP).URL})
		_, err := c.Handle(within(t, 10*time.Second), call(7), mcp.Nobody)
		if _, broken := errors.AsType[*transport.Broken](err); broken == resumed || (err == nil) != resumed {
			t.Errorf("end %q: %v", end, err)
		}
	}
}

// The caller and Close end the wait at once.
func TestResumeGivenUp(t *testing.T) {
	for _, byClose := range []bool{false, true} {
		s := &resumer{pieces: []string{"id: 1\nretry: 20000\n" + progress(1)}}
		c := connect(t, Options{URL: serve(t, s.ServeHTTP).URL})
		ctx, cancel := context.WithCancel(within(t, 10*time.Second))
		defer cancel()
		p := &ender{end: func() {
			if byClose {
				go c.Close()
				return
			}
			cancel()
		}}
		_, err := c.Handle(ctx, call(7), p)
		switch {
		case byClose && !errors.Is(err, errClosed), !byClose && !errors.Is(err, context.Canceled),
			errors.Is(err, context.DeadlineExceeded):
			t.Errorf("by Close %v: %v", byClose, err)
		}
	}
}

// ender ends something when it is told something.
type ender struct{ end func() }

func (e *ender) Notify(context.Context, *mcp.Message) { e.end() }

func (e *ender) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

// A question that is asked again on the resumed stream is put once, and answered once.
func TestResumeQuestion(t *testing.T) {
	question := "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n"
	answered := make(chan *mcp.Message, 10)
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodPost {
			if m := readMessage(r); m.IsAnswer() {
				w.WriteHeader(202)
				answered <- m
				return
			}
			startEvents(w)
			_, _ = io.WriteString(w, "retry: 1\n\n"+question)
			return
		}
		startEvents(w)
		_, _ = io.WriteString(w, question)
		_ = nethttp.NewResponseController(w).Flush()
		select {
		case m := <-answered:
			answered <- m
			_, _ = io.WriteString(w, finalAnswer)
		case <-r.Context().Done():
		}
	})
	var asked []mcp.ID
	p := peerOf(func(_ context.Context, m *mcp.Message) (*mcp.Message, error) {
		asked = append(asked, m.ID)
		return mcp.Answer(m.ID, []byte(`{"action":"accept"}`)), nil
	})
	if _, err := connect(t, Options{URL: s.URL}).Handle(within(t, 10*time.Second), call(7), p); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || len(answered) != 1 {
		t.Errorf("asked %v, answered %d times", asked, len(answered))
	}
}

// The session of the call goes with the resumption, also where initialize itself is answered in pieces.
func TestResumeInSession(t *testing.T) {
	var head nethttp.Header
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Mcp-Session-Id", "s-1")
		startEvents(w)
		if r.Method == nethttp.MethodPost {
			_, _ = io.WriteString(w, "id: x/1\nretry: 1\ndata:\n\n")
			return
		}
		if r.Method == nethttp.MethodGet {
			head = r.Header
		}
		_, _ = io.WriteString(w, "data: "+answerText("1")+"\n\n")
	})
	shakeHands(t, connect(t, Options{URL: s.URL}))
	if head.Get("Mcp-Session-Id") != "s-1" || head.Get("Last-Event-Id") != "x/1" || head.Get("Content-Type") != "" {
		t.Errorf("the GET bore %v", head)
	}
}
