package upstream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

func (f *far) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.conns {
		select {
		case <-c.over:
		default:
			n++
		}
	}
	return n
}

func askFor(ctx context.Context, s *Server, o *Owner, tool string) error {
	_, err := s.Do(ctx, Call{Request: request(tool), Tool: tool, Owner: o})
	return err
}

// D1: how many connections ten sessions have, by the isolation that is configured.
func TestIsolation(t *testing.T) {
	for _, c := range []struct {
		name      string
		isolation lifecycle.Isolation
		stateful  bool
		dials     int // after two calls of each of ten sessions
		open      int
	}{
		{"auto", lifecycle.Auto, false, 1, 1},
		{"auto, stateful", lifecycle.Auto, true, 11, 11},
		{"shared, stateful", lifecycle.Shared, true, 1, 1},
		{"session", lifecycle.PerSession, false, 11, 11},
		{"call", lifecycle.PerCall, false, 21, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &far{handler: slow}
			o := options("stdio", f)
			o.Lifecycle.Isolation, o.Lifecycle.Stateful = c.isolation, c.stateful
			s := New(t.Context(), o)
			defer s.Close("closed")
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			owners := make([]Owner, 10)
			for range 2 {
				for i := range owners {
					if err := askFor(t.Context(), s, &owners[i], "echo"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if f.count() != c.dials || f.open() != c.open {
				t.Errorf("%d dials, %d open; want %d, %d", f.count(), f.open(), c.dials, c.open)
			}
			for i := range owners {
				s.Release(&owners[i])
			}
			s.Close("closed")
			if f.open() != 0 {
				t.Errorf("%d connections are left", f.open())
			}
		})
	}
}

// D1, A5: a session's own process that dies is started again for that session; nobody else notices.
func TestOwnedCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Isolation = lifecycle.PerSession
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		var a, b Owner
		for _, owner := range []*Owner{&a, &b} {
			if err := askFor(t.Context(), s, owner, "echo"); err != nil {
				t.Fatal(err)
			}
		}
		f.mu.Lock()
		ofA := f.conns[1] // the first is the main one
		f.mu.Unlock()
		ofA.end(errExit, "exit status 3")
		synctest.Wait()
		if err := askFor(t.Context(), s, &a, "echo"); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("while it restarts: %v", err)
		}
		if err := askFor(t.Context(), s, &b, "echo"); err != nil || s.State() != Up {
			t.Errorf("the other one: %v, %s", err, s.State())
		}
		time.Sleep(time.Second)
		if err := askFor(t.Context(), s, &a, "echo"); err != nil || f.count() != 4 {
			t.Errorf("later: %v, %d dials", err, f.count())
		}
		s.Release(&a)
		synctest.Wait()
		if f.open() != 2 {
			t.Errorf("%d connections are open", f.open())
		}
	})
}

// C5: a connection that died while the machine slept is found out by the next call, which gets a new one; one that lives
// is kept. Calls that come at once cost one question.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woke atomic.Uint64
		f, r := &far{handler: slow}, new(recorder)
		o := options("ws", f)
		o.Record, o.Woke = r.record, woke.Load
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		woke.Add(1)
		if err := askFor(t.Context(), s, nil, "echo"); err != nil || f.count() != 1 {
			t.Errorf("it lived on: %v, %d dials", err, f.count())
		}
		f.mu.Lock()
		f.conns[0].deaf.Store(true) // as behind a router that forgot the connection
		f.mu.Unlock()
		woke.Add(1)
		begun := time.Now()
		var calls []<-chan error
		for range 10 {
			calls = append(calls, calling(t, s, "echo"))
		}
		for _, c := range calls {
			if err := <-c; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != pingTime || f.count() != 2 || r.count("mcp.server.disconnected") != 1 {
			t.Errorf("after %v, %d dials", took, f.count())
		}
	})
}

// C5: a server that was given up for the time being is dialled when the machine wakes; a process that failed isn't.
func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for kind, want := range map[string]State{"ws": Up, "stdio": Failed} {
			f := &far{handler: slow, fail: errGone}
			s := New(t.Context(), options(kind, f))
			_ = s.Ready(t.Context())
			time.Sleep(time.Minute)
			f.refuse(nil)
			s.Nudge()
			synctest.Wait()
			if s.State() != want {
				t.Errorf("%s: %s", kind, s.State())
			}
			s.Close("closed")
		}
	})
}

// C6: the server says that it doesn't know the session, and so ran nothing: a new one is opened, and the call is sent
// once more, but not a third time.
func TestSessionExpired(t *testing.T) {
	var expired atomic.Int64
	var calls atomic.Int64
	d := &dialer{Transport: local.New(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		if req.Method == mcp.MethodCallTool {
			calls.Add(1)
			if expired.Add(-1) >= 0 {
				return nil, transport.ErrSessionExpired
			}
		}
		return echo(ctx, req, p)
	}))}
	o := options("http", d)
	o.Lifecycle.Pool.Max = 0
	s := New(t.Context(), o)
	defer s.Close("closed")
	expired.Store(1)
	if _, err := ask(t.Context(), s, "echo"); err != nil || d.dials.Load() != 2 || calls.Load() != 2 {
		t.Errorf("%v, %d dials, %d calls", err, d.dials.Load(), calls.Load())
	}
	expired.Store(9)
	calls.Store(0)
	if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.SessionExpired || calls.Load() != 2 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}

// D3, C4, case-059: what may have run isn't sent again, unless the user says that its tool may run twice; and never after a crash.
func TestRunsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var fail atomic.Pointer[error]
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodCallTool && calls.Add(1) == 1 {
				return nil, *fail.Load()
			}
			return echo(ctx, req, p)
		})
		for _, c := range []struct {
			err   error
			idem  string
			calls int64
		}{
			{errors.New("unexpected EOF"), "", 1},
			{errors.New("unexpected EOF"), "get_*", 1},
			{errors.New("unexpected EOF"), "ec*", 2},
			{&transport.StatusError{Status: 503}, "", 1},
			{&transport.StatusError{Status: 503}, "echo", 2},
			{&transport.StatusError{Status: 409}, "echo", 1},
			{&transport.StatusError{Status: 429}, "", 2},
			{transport.ErrNotSent, "", 2},
		} {
			calls.Store(0)
			fail.Store(&c.err)
			o := options("http", local.New(h))
			o.Lifecycle.Pool.Max = 0
			if c.idem != "" {
				o.Lifecycle.Idempotent = []string{c.idem}
			}
			s := New(t.Context(), o)
			_, _ = ask(t.Context(), s, "echo")
			if calls.Load() != c.calls {
				t.Errorf("%v, idempotent %q: %d calls, want %d", c.err, c.idem, calls.Load(), c.calls)
			}
			s.Close("closed")
		}
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Idempotent = []string{"*"}
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		call := calling(t, s, "hang")
		synctest.Wait()
		f.kill()
		if err := <-call; fault.KindOf(err) != fault.Restarted || f.count() != 1 {
			t.Errorf("after a crash: %v", err)
		}
	})
}

// D1: calls to a server that keeps no state between them have connections of their own, so that ten run at once where
// each takes its time on one; the list is the main connection's.
func TestPooledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{Transport: local.New(echo)}
		s := New(t.Context(), options("http", d))
		defer s.Close("closed")
		for range 30 {
			if _, err := ask(t.Context(), s, "echo"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if st := s.Status(); st.PoolSize != 2 || st.PoolMax != 10 || d.dials.Load() != 3 {
			t.Errorf("%d of %d, %d dials", st.PoolSize, st.PoolMax, d.dials.Load())
		}
		time.Sleep(6 * time.Minute)
		if st := s.Status(); st.PoolSize != 0 || st.State != Up {
			t.Errorf("idle: %d, %s", st.PoolSize, st.State)
		}
	})
}

// BenchmarkStack is what the resilience stack adds to a call: the same call through a Server and on the connection alone.
func BenchmarkStack(b *testing.B) {
	for _, c := range []struct{ name, kind string }{{"shared", "stdio"}, {"pooled", "http"}} {
		s := New(b.Context(), options(c.kind, local.New(echo)))
		if err := s.Ready(b.Context()); err != nil {
			b.Fatal(err)
		}
		session, req := s.main.current().session, request("echo")
		b.Run(c.name+"/alone", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.Handle(b.Context(), req, mcp.Nobody); err != nil {
					b.Fatal(err)
				}
			}
		})
		for name, idle := range map[string]time.Duration{"gateway": 0, "library": 30 * time.Second} {
			b.Run(c.name+"/stack/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Do(b.Context(), Call{Request: req, Peer: mcp.Nobody, Tool: "echo", Idle: idle, Hard: idle * 20}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		s.Close("closed")
	}
}

// A5: a session that ends while its server is being closed leaves no process behind.
func TestReleaseDuringClose(t *testing.T) {
	f := &far{handler: slow}
	o := options("stdio", f)
	o.Lifecycle.Isolation = lifecycle.PerSession
	s := New(t.Context(), o)
	var a Owner
	if err := askFor(t.Context(), s, &a, "echo"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.shut = true // as Close does first
	s.mu.Unlock()
	s.Release(&a)
	s.Close("closed")
	if f.open() != 0 {
		t.Errorf("%d connections are open", f.open())
	}
}

// C2: a session's own process is started again by its own ladder, whatever the main one is doing; a restart by hand heals
// those that were given up, too.
func TestOwnedLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Isolation = lifecycle.PerSession
		o.Lifecycle.Restart.Base, o.Lifecycle.Restart.Steps, o.Lifecycle.Restart.Jitter, o.Lifecycle.Breaker.Failures = time.Second, 1, 0, 0
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		var a Owner
		if err := askFor(t.Context(), s, &a, "echo"); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		main, own := f.conns[0], f.conns[1]
		f.mu.Unlock()
		own.end(errExit, "exit status 3")
		synctest.Wait()
		time.Sleep(700 * time.Millisecond)
		main.end(errExit, "exit status 3") // it restarts while the other one is dialled
		time.Sleep(5 * time.Second)
		if err := askFor(t.Context(), s, &a, "echo"); err != nil {
			t.Errorf("its own ladder: %v", err)
		}
		f.refuse(errExit)
		f.kill()
		time.Sleep(time.Minute)
		f.refuse(nil)
		if err := askFor(t.Context(), s, &a, "echo"); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("given up: %v", err)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Error(err)
		}
		if err := askFor(t.Context(), s, &a, "echo"); err != nil {
			t.Errorf("after a restart by hand: %v", err)
		}
	})
}
