package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func TestStandalone(t *testing.T) { // B2
	for _, id := range []string{"s-1", ""} {
		s := newLegacy(func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) {
			send := startEvents(w)
			_, _ = io.WriteString(w, "event: other\ndata: "+listChanged+"\n\ndata: junk\n\n")
			send(`{"jsonrpc":"2.0","id":"q","method":"ping","params":{"a":1,"a":2}}`)
			send(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
			send(listChanged)
			<-r.Context().Done()
		})
		s.id = id
		c := greet(t, serve(t, s.ServeHTTP).URL)
		head := <-s.gets
		for name, want := range map[string]string{
			"Accept": "text/event-stream", "Content-Type": "", "Mcp-Session-Id": id, "Last-Event-Id": "",
			"Mcp-Protocol-Version": mcp.Revision20251125, "User-Agent": "usher",
		} {
			if got := head.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		_, err := c.Receive(within(t, 5*time.Second))
		if b, ok := errors.AsType[*transport.Broken](err); !ok || b.Message.ID != `"q"` || b.Message.Method != "ping" {
			t.Errorf("an unreadable request came as %v", err)
		}
		m := receive(t, c)
		if m.ID != `"q"` || m.Method != "ping" {
			t.Errorf("got %+v", m)
		}
		if err := c.Send(within(t, 5*time.Second), mcp.Answer(m.ID, nil)); err != nil {
			t.Error(err)
		}
		if a := <-s.posts; a.ID != m.ID || string(a.Result) != `{}` {
			t.Errorf("the server read %+v", a)
		}
		if m := receive(t, c); m.Method != mcp.NotifyTools {
			t.Errorf("got %+v", m)
		}
		until(t, c, "open")
	}
}

// case-063: the stream is optional, and a server without it is asked once.
func TestStandaloneIsOptional(t *testing.T) {
	for name, answer := range map[string]nethttp.HandlerFunc{
		"400": status(400), "401": status(401), "403": status(403), "404": status(404), "405": status(405),
		"406": status(406), "501": status(501), "204": status(204), "redirect": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Location", "http://other.invalid/")
			w.WriteHeader(302)
		},
		"JSON": func(w nethttp.ResponseWriter, _ *nethttp.Request) { writeJSON(w, 200, `{}`) },
		"page": func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = io.WriteString(w, "<p>") },
	} {
		s := newLegacy(func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) { answer(w, r) })
		c := greet(t, serve(t, s.ServeHTTP).URL)
		until(t, c, "none: ")
		if n := len(s.gets); n != 1 {
			t.Errorf("%s: %d GETs", name, n)
		}
		if _, err := c.Handle(within(t, 5*time.Second), call(2), mcp.Nobody); err != nil {
			t.Errorf("%s: a call failed: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Receive(ctx); err != context.Canceled {
			t.Errorf("%s: Receive: %v", name, err)
		}
	}
}

func status(code int) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(code) }
}

// A modern server, one that hasn't taken the notification, and one that was only asked get no GET.
func TestStandaloneNotOpened(t *testing.T) {
	m := mcp.Notification(mcp.NotifyInitialized, nil)
	modern := mcp.Notification(mcp.NotifyInitialized, nil)
	modern.Mirror = &mcp.Mirror{Revision: mcp.Revision20260728}
	for name, x := range map[string]struct {
		m      *mcp.Message
		status int
	}{
		"modern": {modern, 202}, "refused": {m, 400}, "another": {mcp.Notification(mcp.NotifyCancelled, nil), 202},
	} {
		srv := new(sessions)
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if x.status != 202 {
				w.WriteHeader(x.status)
				return
			}
			srv.ServeHTTP(w, r)
		})
		c := connect(t, Options{URL: s.URL})
		if err := c.Send(within(t, 5*time.Second), x.m); (err == nil) != (x.status == 202) {
			t.Errorf("%s: %v", name, err)
		}
		if is := c.Describe().Stream; is != "" {
			t.Errorf("%s: the stream is %q", name, is)
		}
		_ = c.Close() // it would wait for a GET on its way
		if got := srv.seen(); strings.Contains(got, "GET") {
			t.Errorf("%s: the server saw %s", name, got)
		}
	}
}

// C5: a stream that is lost is opened anew behind the last message, after the time that the server asked for. What it
// sends twice comes once.
func TestStandaloneReopened(t *testing.T) {
	const wait = 150 * time.Millisecond
	var ended time.Time
	s := newLegacy(func(n int, w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Content-Type", typeEvents)
		switch n {
		case 1:
			_, _ = fmt.Fprintf(w, "retry: %d\nid: a\ndata: %s\n\nid: b\ndata: {\"cut", wait.Milliseconds(), notice(1))
			ended = time.Now()
		case 2:
			if d := time.Since(ended); d < wait {
				t.Errorf("opened anew after %v", d)
			}
			_, _ = fmt.Fprintf(w, "id: a\ndata: %s\n\nid: b\ndata: %s\n\ndata: %s\n\n", notice(1), notice(2), notice(3))
			_ = nethttp.NewResponseController(w).Flush()
			panic(nethttp.ErrAbortHandler)
		case 3:
			w.WriteHeader(503)
		default:
			_, _ = fmt.Fprintf(w, "data: %s\n\n", notice(4))
			_ = nethttp.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	c := greet(t, serve(t, s.ServeHTTP).URL)
	for i := range 4 {
		if m := receive(t, c); string(m.Params) != fmt.Sprintf(`{"n":%d}`, i+1) {
			t.Errorf("message %d is %s", i+1, m.Params)
		}
	}
	for i, want := range []string{"", "a", "b", "b"} {
		if got := (<-s.gets).Get("Last-Event-Id"); got != want {
			t.Errorf("GET %d bore the id %q, want %q", i+1, got, want)
		}
	}
}

func notice(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/test","params":{"n":%d}}`, n)
}

// case-081: a server that gives nothing is left alone after a while; one that gives something again is not.
func TestStandaloneGivenUp(t *testing.T) {
	s := newLegacy(func(n int, w nethttp.ResponseWriter, _ *nethttp.Request) {
		switch {
		case n == 3:
			startEvents(w)(listChanged)
		case n%2 == 0:
			startEvents(w)
		default:
			w.WriteHeader(503)
		}
	})
	c := greet(t, serve(t, s.ServeHTTP).URL)
	if m := receive(t, c); m.Method != mcp.NotifyTools {
		t.Errorf("got %+v", m)
	}
	until(t, c, "given up: ")
	if n, want := len(s.gets), 3+quick.reopens; n != want {
		t.Errorf("%d GETs, want %d", n, want)
	}
	if _, err := c.Handle(within(t, 5*time.Second), call(2), mcp.Nobody); err != nil {
		t.Error(err)
	}
}

// A new handshake has a stream of its own, and the one before ends.
func TestStandaloneReplaced(t *testing.T) {
	gone := make(chan struct{})
	s := newLegacy(func(n int, w nethttp.ResponseWriter, r *nethttp.Request) {
		send := startEvents(w)
		if n > 1 {
			send(notice(n))
		}
		<-r.Context().Done()
		if n == 1 {
			close(gone)
		}
	})
	c := greet(t, serve(t, s.ServeHTTP).URL)
	<-s.gets
	initialized(t, c, mcp.Revision20250618)
	if m := receive(t, c); string(m.Params) != `{"n":2}` {
		t.Errorf("got %s", m.Params)
	}
	if got := (<-s.gets).Get("Mcp-Protocol-Version"); got != mcp.Revision20250618 {
		t.Errorf("the second GET speaks %q", got)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the first stream stayed open")
	}
	until(t, c, "open")
}

// Close ends a stream that is open, one that waits for Receive, one that is awaited and one that never answers.
func TestStandaloneClose(t *testing.T) {
	for name, listen := range map[string]func(int, nethttp.ResponseWriter, *nethttp.Request){
		"open": func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) { startEvents(w); <-r.Context().Done() },
		"full": func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) {
			startEvents(w)(listChanged)
			<-r.Context().Done()
		},
		"silent": func(_ int, _ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() },
		"awaiting": func(_ int, w nethttp.ResponseWriter, _ *nethttp.Request) {
			startEvents(w)
			_, _ = io.WriteString(w, "retry: 60000\n\n")
		},
	} {
		s := newLegacy(listen)
		c := greet(t, serve(t, s.ServeHTTP).URL)
		<-s.gets
		start := time.Now()
		_ = c.Close()
		if took := time.Since(start); took >= closeTimeout {
			t.Errorf("%s: Close took %v", name, took)
		}
		if _, err := c.Receive(t.Context()); err != io.EOF {
			t.Errorf("%s: Receive: %v", name, err)
		}
	}
}

// A stream that breaks on the way is opened anew through the same proxy.
func TestStandaloneThroughABrokenProxy(t *testing.T) {
	s := newLegacy(func(n int, w nethttp.ResponseWriter, r *nethttp.Request) {
		startEvents(w)
		_, _ = fmt.Fprintf(w, "retry: 10\nid: %d\ndata: %s\n\n", n, notice(n))
		_ = nethttp.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p := transporttest.NewProxy(t, "tcp", serve(t, s.ServeHTTP).Listener.Addr().String(), nil)
	c := greet(t, "http://"+p.Addr)
	for n := range 5 {
		if m := receive(t, c); string(m.Params) != fmt.Sprintf(`{"n":%d}`, n+1) {
			t.Errorf("got %s", m.Params)
		}
		p.Cut()
	}
}

func TestBackoff(t *testing.T) {
	p := defaultPace
	for _, x := range []struct {
		retry    time.Duration
		idle     int
		min, max time.Duration
	}{
		{0, 0, 500 * time.Millisecond, time.Second},
		{0, 1, time.Second, 2 * time.Second},
		{0, 4, 8 * time.Second, 16 * time.Second},
		{0, 9, 15 * time.Second, 30 * time.Second},
		{5 * time.Second, 0, 5 * time.Second, 5 * time.Second},
		{minRetry, 0, p.least, p.least},
		{minRetry, 3, 4 * time.Second, 8 * time.Second},
		{time.Hour, 9, time.Hour, time.Hour},
	} {
		for range 100 {
			if d := p.backoff(x.retry, x.idle); d < x.min || d > x.max {
				t.Fatalf("retry %v, idle %d: %v", x.retry, x.idle, d)
			}
		}
	}
}

// A client that has shaken hands finds the stream open, so that nothing is lost; a server that doesn't answer the GET
// delays it, but not for long.
func TestStandaloneIsAwaited(t *testing.T) {
	for _, answers := range []bool{true, false} {
		s := newLegacy(func(_ int, w nethttp.ResponseWriter, r *nethttp.Request) {
			if answers {
				startEvents(w)
			}
			<-r.Context().Done()
		})
		start := time.Now()
		c := greet(t, serve(t, s.ServeHTTP).URL)
		took, is := time.Since(start), c.Describe().Stream
		switch {
		case answers && is != "open" && took < openWait, !answers && (took < openWait || is != "opening"):
			t.Errorf("answers %v: it took %v, and the stream is %q", answers, took, is)
		}
	}
}

// C5: a server that no longer knows the last event is asked for a stream from now on; one that has none isn't asked a
// third time.
func TestStandaloneForgottenEvent(t *testing.T) {
	for name, again := range map[string]bool{"it has a stream": true, "it has none": false} {
		s := newLegacy(func(n int, w nethttp.ResponseWriter, r *nethttp.Request) {
			switch {
			case n == 1:
				_, _ = fmt.Fprintf(asEvents(w), "retry: 1\nid: a\ndata: %s\n\n", notice(1))
			case n == 2 || !again:
				w.WriteHeader(400)
			default:
				_, _ = fmt.Fprintf(asEvents(w), "data: %s\n\n", notice(2))
				_ = nethttp.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		})
		c := greet(t, serve(t, s.ServeHTTP).URL)
		receive(t, c)
		if again {
			if m := receive(t, c); string(m.Params) != `{"n":2}` {
				t.Errorf("got %s", m.Params)
			}
		} else {
			until(t, c, "none: ")
		}
		if len(s.gets) != 3 {
			t.Errorf("%s: %d GETs", name, len(s.gets))
			continue
		}
		for i, want := range []string{"", "a", ""} {
			if got := (<-s.gets).Get("Last-Event-Id"); got != want {
				t.Errorf("%s: GET %d bore the id %q, want %q", name, i+1, got, want)
			}
		}
	}
}

func asEvents(w nethttp.ResponseWriter) io.Writer {
	w.Header().Set("Content-Type", typeEvents)
	return w
}
