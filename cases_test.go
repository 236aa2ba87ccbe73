package usher_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// Failures in public reports that are about time; test/cases has those that are about processes and sockets.

// late is a server that takes its time to shake hands, for each connection.
type late struct {
	transport.Transport
	takes time.Duration
	dials atomic.Int64
	now   atomic.Int64 // of those under way
	most  atomic.Int64
}

func newLate(h mcp.Handler, takes time.Duration) *late {
	return &late{Transport: local.New(h), takes: takes}
}

func (l *late) Connect(ctx context.Context) (transport.Conn, error) {
	l.dials.Add(1)
	now := l.now.Add(1)
	defer l.now.Add(-1)
	if now > l.most.Load() {
		l.most.Store(now)
	}
	select {
	case <-time.After(l.takes):
		return l.Transport.Connect(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hosting opens a host within a bubble.
func hosting(t *testing.T, servers ...usher.Server) *usher.Host {
	t.Helper()
	h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listNames lists as an agent does, and tells how long that took.
func listNames(t *testing.T, s *usher.Session) (names []string, took time.Duration) {
	t.Helper()
	begun := time.Now()
	m, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
	if err != nil {
		t.Fatal(err)
	}
	for tool := range mcp.Elements(mcp.Member(m.Result, "tools")) {
		names = append(names, mcp.Text(mcp.Member(tool, "name")))
	}
	return names, time.Since(begun)
}

// case-038: many servers that don't answer cost the first list five seconds in all, and it has what there is. case-047: one
// that comes later tells the agent, and is in the next list and callable.
func TestFirstListIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := []usher.Server{
			{Name: "good", Transport: local.New(&fake{tools: readTool}), Kind: "stdio", TrustHints: true},
			{Name: "late", Transport: newLate(&fake{tools: readTool}, 8*time.Second), Kind: "ws", TrustHints: true},
		}
		for i := range 50 {
			servers = append(servers, usher.Server{Name: fmt.Sprint("hangs", i), Transport: local.New(&mcpHang{}), Kind: []string{"stdio", "ws"}[i%2]})
		}
		h := hosting(t, servers...)
		defer h.Close()
		told := make(chan struct{}, 100)
		s := session(t, h, usher.SessionOptions{Changed: func() { told <- struct{}{} }})
		names, took := listNames(t, s)
		if fmt.Sprint(names) != "[mcp__good__get]" || took > 5*time.Second {
			t.Errorf("%q after %v", names, took)
		}
		for over := time.After(10 * time.Second); fmt.Sprint(names) != "[mcp__good__get mcp__late__get]"; names, _ = listNames(t, s) {
			select {
			case <-told:
				continue
			case <-over:
			}
			t.Fatalf("nobody was told of the late one; the list is %q", names)
		}
		if _, err := s.Call(t.Context(), "mcp.late.get", []byte(`{"key":"k"}`)); err != nil {
			t.Error(err)
		}
	})
}

// case-042: what has to be installed first has a time of its own for its first start, and the usual one for the next.
// case-051: a build that outlasts even that is named, with what to write.
func TestFirstStartHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := usher.DefaultLifecycle()
		life.FirstConnect, life.Restart.Enabled = 2*time.Minute, false
		slow, endless := newLate(&fake{tools: readTool}, 110*time.Second), newLate(&fake{tools: readTool}, time.Hour)
		h := hosting(t,
			usher.Server{Name: "slow", Transport: slow, Kind: "stdio", TrustHints: true, Lifecycle: &life},
			usher.Server{Name: "endless", Transport: endless, Kind: "stdio", TrustHints: true, Lifecycle: &life},
		)
		defer h.Close()
		begun := time.Now()
		h.Ready(t.Context())
		if took := time.Since(begun); took != 2*time.Minute {
			t.Errorf("after %v", took)
		}
		for _, st := range h.Servers() {
			switch text := fmt.Sprint(st.Err); st.Name {
			case "slow":
				if st.State != "up" {
					t.Errorf("%s: %v", st.State, st.Err)
				}
			case "endless":
				if st.State != "failed" || !strings.Contains(text, "it didn't answer within 2 min") || fault.Of(st.Err).Hint == "" {
					t.Errorf("%s: %v", st.State, st.Err)
				}
			}
		}
		begun = time.Now()
		if err := h.Restart(t.Context(), "slow"); err == nil || time.Since(begun) != life.Connect {
			t.Errorf("once it has been up: %v after %v", err, time.Since(begun))
		}
	})
}

// case-050: of 99 servers that start at once few do so at the same time, and the time that the others wait isn't theirs.
func TestStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLate(&fake{tools: readTool}, 4*time.Second)
		var servers []usher.Server
		for i := range 99 {
			servers = append(servers, usher.Server{Name: fmt.Sprint("s", i), Transport: l, Kind: "stdio", TrustHints: true})
		}
		h := hosting(t, servers...)
		defer h.Close()
		h.Ready(t.Context())
		for _, st := range h.Servers() {
			if st.State != "up" {
				t.Errorf("%s is %s: %v", st.Name, st.State, st.Err)
			}
		}
		if l.most.Load() > 3 || l.dials.Load() != 99 {
			t.Errorf("%d at once, %d dials", l.most.Load(), l.dials.Load())
		}
	})
}

// case-066: a server whose handshake never ends any more, after its connection broke, is waited for by nobody for longer
// than their own time, and given up in the end. case-075: it is found again when it answers.
func TestReconnectThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(&fake{tools: readTool})
		silent := &silence{Transport: m}
		h := hosting(t, usher.Server{Name: "a", Transport: silent, Kind: "ws", TrustHints: true})
		defer h.Close()
		h.Ready(t.Context())
		s := session(t, h, usher.SessionOptions{CallTimeout: 7 * time.Second})
		call := func() (time.Duration, error) {
			begun := time.Now()
			_, err := s.Call(t.Context(), "mcp.a.get", []byte(`{"key":"k"}`))
			return time.Since(begun), err
		}
		silent.on.Store(true)
		m.die(nil)
		synctest.Wait()
		if took, err := call(); err == nil || took > 7*time.Second {
			t.Errorf("a call meanwhile: %v after %v", err, took)
		}
		time.Sleep(2 * time.Minute) // six attempts of 10 s, and the waits between them
		if st := h.Servers()[0]; st.State != "unavailable" {
			t.Errorf("it is %s", st.State)
		}
		silent.on.Store(false)
		if _, err := call(); err != nil {
			t.Errorf("once it answers again: %v", err)
		}
	})
}

// silence takes connections and says nothing on them, while it is on.
type silence struct {
	transport.Transport
	on atomic.Bool
}

func (s *silence) Connect(ctx context.Context) (transport.Conn, error) {
	if s.on.Load() {
		return local.New(&mcpHang{}).Connect(ctx)
	}
	return s.Transport.Connect(ctx)
}

// case-201, case-187: the time that is configured is the one that counts, above the usual 30 s and below.
func TestConfiguredTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodCallTool {
				select {
				case <-time.After(80 * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return (&fake{tools: readTool}).Handle(ctx, req, p)
		})
		for limit, want := range map[time.Duration]time.Duration{90 * time.Second: 80 * time.Second, 5 * time.Second: 5 * time.Second} {
			life := usher.DefaultLifecycle()
			life.Request = limit
			h := hosting(t, usher.Server{Name: "a", Transport: local.New(slow), Kind: "stdio", TrustHints: true, Lifecycle: &life})
			h.Ready(t.Context())
			s := session(t, h, usher.SessionOptions{})
			begun := time.Now()
			_, err := s.Call(t.Context(), "mcp.a.get", []byte(`{"key":"k"}`))
			if took := time.Since(begun); took != want || (err == nil) != (want < limit) {
				t.Errorf("with %v: %v after %v", limit, err, took)
			}
			_ = h.Close()
		}
	})
}
