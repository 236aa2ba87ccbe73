package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

func newHTTP(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// direct sends a request without a network, as a bubble of synctest needs it.
func (w *world) direct(body, session string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:80/", strings.NewReader(body))
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{Port: 80}))
	r.Header.Set("Content-Type", jsonType)
	if session != "" {
		r.Header.Set(mcp.HeaderSession, session)
	}
	out := httptest.NewRecorder()
	w.serveHTTP(out, r)
	return out
}

// case-035, S4: an idle session expires; one that is used doesn't, however long its call takes.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{IdleTimeout: time.Minute})
		used, unused := w.direct(hello, "").Header().Get(mcp.HeaderSession), w.direct(hello, "").Header().Get(mcp.HeaderSession)
		if used == unused || len(used)*5 < 128 {
			t.Fatalf("ids %q and %q", used, unused)
		}
		w.direct(listTools, unused)
		time.Sleep(40 * time.Second)
		go w.direct(call("1", "wait", `{}`), used)
		synctest.Wait()
		time.Sleep(5 * time.Minute)
		if got := w.direct(listTools, unused).Code; got != http.StatusNotFound {
			t.Errorf("the unused session: %d", got)
		}
		if types := w.log.Types(w.log.sessions()[0]); types[len(types)-1] != "session.ended" {
			t.Errorf("the unused session in the log: %v", types)
		}
		close(w.up.release)
		synctest.Wait()
		time.Sleep(59 * time.Second)
		if got := w.direct(listTools, used).Code; got != http.StatusOK {
			t.Errorf("the used session: %d", got)
		}
		time.Sleep(61 * time.Second)
		if got := w.direct(listTools, used).Code; got != http.StatusNotFound {
			t.Errorf("the used session at last: %d", got)
		}
	})
}

// D2: a call has a hard limit.
func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		id := w.direct(hello, "").Header().Get(mcp.HeaderSession)
		begun := time.Now()
		r := w.direct(call("1", "wait", `{}`), id)
		if took := time.Since(begun); took != 10*time.Minute || !strings.Contains(r.Body.String(), `"isError":true`) {
			t.Errorf("%v %s", took, r.Body)
		}
	})
}

// case-019: the sessions are bounded; the longest idle one goes, never one that is used.
func TestCap(t *testing.T) {
	w := newWorld(t, Options{MaxSessions: 2})
	url := w.listen()
	a, b, c := w.client(url), w.client(url), w.client(url)
	a.hello()
	go func() { _, _ = a.send(context.Background(), call("1", "wait", `{"id":"a"}`)) }()
	receive(t, w.up.started)
	b.hello()
	c.hello()
	if r := b.post(listTools); r.status != http.StatusNotFound {
		t.Errorf("the longest idle session: %d", r.status)
	}
	go func() { _, _ = c.send(context.Background(), call("1", "wait", `{"id":"c"}`)) }()
	receive(t, w.up.started)
	if r := b.post(hello, mcp.HeaderSession+": "); r.status != http.StatusServiceUnavailable || r.header.Get(mcp.HeaderSession) != "" {
		t.Errorf("no room: %d %s", r.status, r.body)
	}
	close(w.up.release)
	eventually(t, "the sessions are idle again", func() bool {
		w.sessions.mu.Lock()
		defer w.sessions.mu.Unlock()
		return w.sessions.idle.Len() == 2
	})
	b.session = ""
	b.hello()
}

// case-035: clients that only say hello leave nothing behind: no event, and no more memory than the bound allows.
func TestAbandoned(t *testing.T) {
	w := newWorld(t, Options{MaxSessions: 1000})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	abandon := func(n int) {
		for range n {
			if r := w.direct(hello, ""); r.Code != http.StatusOK {
				t.Fatal(r.Code)
			}
		}
	}
	before := heap()
	abandon(1000)
	full := heap()
	if each := int64(full-before) / 1000; each > 4<<10 {
		t.Errorf("an idle session takes %d bytes", each)
	} else {
		t.Logf("an idle session takes %d bytes", each)
	}
	abandon(10_000)
	if after := heap(); int64(after-full) > 200<<10 {
		t.Errorf("10,000 more took %d bytes", int64(after-full))
	}
	if n := len(w.log.sessions()); n != 0 {
		t.Errorf("%d sessions in the log", n)
	}
}

// A session that has been used is small too, when it is idle.
func TestIdleSessionIsSmall(t *testing.T) {
	w := newWorld(t, Options{})
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = w.direct(hello, "").Header().Get(mcp.HeaderSession)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, id := range ids {
		a := w.sessions.take(id)
		if _, err := a.begin(); err != nil {
			t.Fatal(err)
		}
		a.done()
		w.sessions.release(a)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// The test's log keeps two events of each session, which the real one doesn't.
	if each := int64(after.HeapAlloc-before.HeapAlloc) / 1000; each > 4<<10 {
		t.Errorf("an opened session takes %d bytes more", each)
	} else {
		t.Logf("an opened session takes %d bytes more, with its events", each)
	}
}

func TestClosed(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	w.Close()
	if r := c.post(hello); r.status != http.StatusServiceUnavailable || r.code() != "-32603" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := c.modern(mcp.MethodListTools, ""); r.code() != "-32603" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !errors.Is(w.ServeStdio(t.Context(), strings.NewReader(""), new(strings.Builder)), errClosed) {
		t.Error("stdio serves after Close")
	}
}

// T3: a client's name can do nothing to who reads it.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"Claude Code":               "Claude Code",
		" \x1b[31mred\r\nnew\t ":    "[31mrednew",
		"a\u202eb\u200bc\u2066":     "abc",
		strings.Repeat("é", 100):    strings.Repeat("é", 32),
		strings.Repeat("\x00", 500): "",
		"日本語":                       "日本語",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
