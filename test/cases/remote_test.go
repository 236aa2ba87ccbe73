package cases_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// backend is a legacy server over HTTP that keeps a session for each client, and can be stopped and come back.
type backend struct {
	addr string
	http *http.Server

	mu       sync.Mutex
	sessions map[string]int // id → calls
	opened   int            // in all
	posts    int
	refuse   int           // so many handshakes are refused with 500
	status   int           // of all answers, if not 0
	later    time.Duration // how long a 404 takes, but for the first
	unknown  int           // 404s
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{addr: "127.0.0.1:0", sessions: map[string]int{}}
	b.up(t)
	t.Cleanup(b.down)
	return b
}

// up listens at the address that the backend had before.
func (b *backend) up(t *testing.T) {
	t.Helper()
	var l net.Listener
	eventually(t, "the address is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", b.addr)
		return err == nil
	})
	b.addr = l.Addr().String()
	b.http = &http.Server{Handler: b, ReadHeaderTimeout: time.Second}
	go func() { _ = b.http.Serve(l) }()
}

// down ends all connections, and forgets all sessions.
func (b *backend) down() {
	_ = b.http.Close()
	b.forget()
}

func (b *backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = map[string]int{}
}

// count are the sessions that were ever opened.
func (b *backend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts++
	id := r.Header.Get("Mcp-Session-Id")
	_, known := b.sessions[id]
	switch {
	case b.status != 0:
		w.WriteHeader(b.status)
		return
	case m.Method == "initialize" && b.refuse > 0:
		b.refuse--
		w.WriteHeader(http.StatusInternalServerError)
		return
	case m.Method == "initialize":
		b.opened++
		id = fmt.Sprint("session-", b.opened)
		b.sessions[id] = 0
		w.Header().Set("Mcp-Session-Id", id)
	case m.Method == "server/discover":
	case !known:
		if b.unknown++; b.unknown > 1 {
			b.mu.Unlock()
			time.Sleep(b.later)
			b.mu.Lock()
		}
		w.WriteHeader(http.StatusNotFound)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, b.result(m.Method, id))
}

func (b *backend) result(method, session string) string {
	switch method {
	case "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`
	case "tools/list":
		return `"result":{"tools":[{"name":"count","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
	case "tools/call":
		b.sessions[session]++
		return fmt.Sprintf(`"result":{"content":[{"type":"text","text":"%d"}]}`, b.sessions[session])
	case "ping":
		return `"result":{}`
	}
	return `"error":{"code":-32601,"message":"Method not found"}`
}

// far configures a backend.
func (w *world) far(t *testing.T, b *backend, fields object) {
	t.Helper()
	w.configure(t, object{"far": with(object{"type": "http", "url": "http://" + b.addr + "/mcp"}, fields)})
}

// case-060: a back end that was restarted is found again. case-054: so it is where it isn't ready for the first handshake.
// case-087: the agents' sessions go on.
func TestBackEndRestarts(t *testing.T) {
	w, b := newWorld(t), newBackend(t)
	w.far(t, b, object{ // with less patience than by default
		"retry": false, "breaker": object{"cooldown": "200ms"}, "reconnect": object{"base": "50ms", "cap": "200ms", "attempts": 50},
	})
	g := w.serve(t)
	a := g.agent(t)
	a.says(t, "mcp__far__count", "", "1")
	for round := range 3 {
		b.down()
		for range 3 {
			if got := a.call(t, "mcp__far__count", ""); got.good() {
				t.Errorf("while it is down: %q", got.text())
			}
		}
		eventually(t, "it is known to be lost", func() bool { return w.status(t, "far").State == "reconnecting" })
		b.mu.Lock()
		b.refuse = round
		b.mu.Unlock()
		b.up(t)
		eventually(t, "it answers again", func() bool { return a.call(t, "mcp__far__count", "").good() })
		if tools := a.list(t); len(tools) != 1 {
			t.Errorf("it lists %q", tools)
		}
	}
	g.stop(t)
}

// case-056: a session that the server has forgotten is opened anew, once for all calls that find out, and works for those
// after them. case-084: while it is known nobody opens another one.
func TestDeadSession(t *testing.T) {
	w, b := newWorld(t), newBackend(t)
	b.later = 50 * time.Millisecond
	w.far(t, b, nil)
	g := w.serve(t)
	a := g.agent(t)
	for n := range 3 {
		a.says(t, "mcp__far__count", "", fmt.Sprint(n+1))
	}
	before := b.count()
	b.forget()
	var wg sync.WaitGroup
	var good atomic.Int64
	for range 10 {
		other := g.agent(t)
		wg.Go(func() {
			if got := other.call(t, "mcp__far__count", ""); got.good() {
				good.Add(1)
			} else {
				t.Errorf("it answered %q", got.text())
			}
		})
	}
	wg.Wait()
	a.says(t, "mcp__far__count", "", fmt.Sprint(good.Load()+1))
	if n := b.count() - before; n != 1 {
		t.Errorf("%d sessions were opened", n)
	}
	g.stop(t)
}

// case-037: whoever looks how a server fares opens no session.
func TestLooksOpenNoSession(t *testing.T) {
	w, b := newWorld(t), newBackend(t)
	w.far(t, b, nil)
	g := w.serve(t)
	a := g.agent(t)
	a.says(t, "mcp__far__count", "", "1")
	before := b.count()
	for range 10 {
		if s := w.status(t, "far"); s.State != "up" {
			t.Errorf("it is %s", s.State)
		}
		g.agent(t).list(t)
	}
	a.says(t, "mcp__far__count", "", "2")
	if n := b.count() - before; n != 0 {
		t.Errorf("%d sessions were opened", n)
	}
	g.stop(t)
}

// case-039: who is refused for want of credentials isn't tried again and again, and keeps no list waiting.
func TestRefused(t *testing.T) {
	w, b := newWorld(t), newBackend(t)
	b.status = http.StatusUnauthorized
	w.far(t, b, object{"reconnect": object{"base": "10ms", "cap": "10ms", "attempts": 50}})
	g := w.serve(t)
	begun := time.Now()
	const lists = 5
	for range lists {
		g.agent(t).list(t)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("five lists took %v", took)
	}
	eventually(t, "it is left alone", func() bool { return w.status(t, "far").State == "unavailable" })
	b.mu.Lock()
	posts := b.posts
	b.mu.Unlock()
	if posts > 2 {
		t.Errorf("%d requests", posts)
	}
	if raw := w.status(t, "far").Raw; !strings.Contains(raw, "401") && !strings.Contains(raw, "credentials") {
		t.Errorf("what is told: %s", raw)
	}
	g.stop(t)
}
