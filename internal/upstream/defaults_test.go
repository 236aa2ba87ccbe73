package upstream

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// mute is a server that takes connections and answers nothing.
type mute struct{ dials atomic.Int64 }

func (m *mute) Connect(ctx context.Context) (transport.Conn, error) {
	m.dials.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// D2, C8: an attempt has 10 s, then there is a second one; a package runner has 120 s until it was up once.
func TestConnectTime(t *testing.T) {
	for _, c := range []struct {
		first time.Duration // 0: the default
		took  time.Duration
	}{{0, 10 * time.Second}, {2 * time.Minute, 2 * time.Minute}} {
		for _, kind := range []string{"stdio", "ws"} {
			synctest.Test(t, func(t *testing.T) {
				m := new(mute)
				o := options(kind, m)
				if c.first > 0 {
					o.Lifecycle.FirstConnect = c.first
				}
				s := New(t.Context(), o)
				defer s.Close("closed")
				begun := time.Now()
				s.Start()
				s.Settle(t.Context())
				if took := time.Since(begun); took != c.took || s.Status().Err == nil {
					t.Errorf("%s: %v, %v", kind, took, s.Status().Err)
				}
				time.Sleep(time.Second)
				if n := m.dials.Load(); n != 2 {
					t.Errorf("%s: %d dials", kind, n)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("ws", f)
		o.Lifecycle.FirstConnect = 2 * time.Minute
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil || s.connectTime() != 10*time.Second {
			t.Errorf("once it was up: %v, %v", s.connectTime(), err)
		}
	})
}

// lists is a server that counts how often it is asked for each list.
type lists struct {
	capabilities string
	ttl          int64 // ms, of tools
	count        [4]atomic.Int64
}

func (l *lists) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	answer := func(raw string) (*mcp.Message, error) { return mcp.Answer(req.ID, json.RawMessage(raw)), nil }
	switch req.Method {
	case mcp.MethodDiscover:
		return answer(`{"supportedVersions":["2026-07-28"],"capabilities":` + l.capabilities + `}`)
	case mcp.MethodListTools:
		l.count[0].Add(1)
		m, _ := echo(ctx, req, p)
		if l.ttl > 0 {
			m.Result = mcp.SetMember(m.Result, "ttlMs", json.RawMessage(strconv.FormatInt(l.ttl, 10)))
		}
		return m, nil
	case mcp.MethodListPrompts:
		l.count[1].Add(1)
		return answer(`{"prompts":[{"name":"p"}]}`)
	case mcp.MethodListResources:
		l.count[2].Add(1)
		return answer(`{"resources":[{"uri":"x:y","name":"r"}]}`)
	case mcp.MethodListResourceTemplates:
		l.count[3].Add(1)
		return answer(`{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"t"}]}`)
	}
	return echo(ctx, req, p)
}

func (l *lists) counts() (all [4]int64) {
	for i := range all {
		all[i] = l.count[i].Swap(0)
	}
	return all
}

// C1, E6: each list is asked for once, and only of a server that declared it; then when the server says that it changed,
// only that one, and when its time to live has ended: the server's, else the one that is configured, else never.
func TestWhenListsAreDue(t *testing.T) {
	const all = `{"tools":{},"prompts":{},"resources":{}}`
	for _, c := range []struct {
		name  string
		l     *lists
		ttl   time.Duration
		first [4]int64
		hour  [4]int64
	}{
		{"all", &lists{capabilities: all}, 0, [4]int64{1, 1, 1, 1}, [4]int64{}},
		{"tools alone", &lists{capabilities: `{"tools":{}}`}, 0, [4]int64{1, 0, 0, 0}, [4]int64{}},
		{"the server's time", &lists{capabilities: all, ttl: 600_000}, time.Hour * 5, [4]int64{1, 1, 1, 1}, [4]int64{6, 0, 0, 0}},
		{"the user's time", &lists{capabilities: all}, 30 * time.Minute, [4]int64{1, 1, 1, 1}, [4]int64{2, 2, 2, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options("http", local.New(c.l))
				o.Shelf = catalog.New(catalog.Options{}).Shelves(t.Context(), catalog.Server{Name: "s", Key: "s", TTL: c.ttl})[0]
				s := New(t.Context(), o)
				defer s.Close("closed")
				if err := s.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if got := c.l.counts(); got != c.first {
					t.Errorf("first %v, want %v", got, c.first)
				}
				time.Sleep(time.Hour)
				if got := c.l.counts(); got != c.hour {
					t.Errorf("in an hour %v, want %v", got, c.hour)
				}
				if c.name != "all" {
					return
				}
				for method, want := range map[string][4]int64{
					mcp.NotifyTools: {1, 0, 0, 0}, mcp.NotifyPrompts: {0, 1, 0, 0}, mcp.NotifyResources: {0, 0, 1, 1},
				} {
					s.notified(mcp.Notification(method, nil))
					time.Sleep(2 * time.Second)
					if got := c.l.counts(); got != want {
						t.Errorf("%s: %v, want %v", method, got, want)
					}
				}
			})
		})
	}
}

// E6: a list that couldn't be had is asked for again, a minute later, without a call or a notification.
func TestFailedListIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail atomic.Bool
		l := &lists{capabilities: `{"tools":{},"prompts":{}}`}
		s := New(t.Context(), options("http", local.New(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodListPrompts && fail.Load() {
				return nil, fault.New(fault.Restarted, "cut")
			}
			return l.Handle(ctx, req, p)
		}))))
		defer s.Close("closed")
		fail.Store(true)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		fail.Store(false)
		time.Sleep(32 * time.Second)
		if e := s.o.Shelf.Entry().Prompts; len(e.Items) != 1 || e.Err != nil {
			t.Errorf("%d prompts, %v", len(e.Items), e.Err)
		}
	})
}

// D1: a session that ends while its process is being started leaves nothing.
func TestReleaseWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Isolation, o.Slots = lifecycle.PerSession, make(chan struct{}, 1)
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Slots <- struct{}{} // it waits for its turn
		var a Owner
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := askFor(ctx, s, &a, "echo"); fault.KindOf(err) != fault.Timeout {
			t.Error(err)
		}
		s.Release(&a)
		synctest.Wait()
		<-o.Slots
		time.Sleep(time.Minute)
		if f.open() != 1 || s.Status().Owned != 0 || f.count() != 1 {
			t.Errorf("%d connections, %d dials", f.open(), f.count())
		}
	})
}
