package upstream

import (
	"context"
	"encoding/json"
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

// A6, C4: a process that dies in the one call that it was started for ends that call.
func TestCrashInPerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle = lifecycle.Minimal()
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		call := calling(t, s, "hang")
		synctest.Wait()
		begun := time.Now()
		f.kill()
		synctest.Wait()
		select {
		case err := <-call:
			if fault.KindOf(err) != fault.Restarted || time.Since(begun) != 0 {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		default:
			t.Error("the call hangs")
		}
		if _, err := ask(t.Context(), s, "echo"); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}

// C3, A6: a server that is closed takes the processes of its calls with it, and starts none for later ones.
func TestCloseInPerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle, o.Slots = lifecycle.Minimal(), make(chan struct{}, 1)
		s := New(t.Context(), o)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		running := calling(t, s, "hang")
		synctest.Wait()
		o.Slots <- struct{}{}
		starting := calling(t, s, "hang")
		synctest.Wait()
		begun := time.Now()
		s.Close("closed")
		if err := <-running; fault.KindOf(err) != fault.Restarted || time.Since(begun) != 0 {
			t.Errorf("the call that it had: %v after %v", err, time.Since(begun))
		}
		if err := <-starting; fault.KindOf(err) != fault.Unavailable || time.Since(begun) != 0 {
			t.Errorf("the call that waited: %v after %v", err, time.Since(begun))
		}
		if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable || f.open() != 0 {
			t.Errorf("a later call: %v, %d processes", err, f.open())
		}
	})
}

// C5, A6: a remote server with a connection for each call that was given up is dialled by who needs it, and is up again
// as soon as a call was answered.
func TestUnavailableInPerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, need := range []func(*Server) error{
			func(s *Server) error { return s.Ready(t.Context()) },
			func(s *Server) error { return askFor(t.Context(), s, nil, "echo") },
		} {
			f := &far{handler: slow, fail: errGone}
			o := options("http", f)
			o.Lifecycle.Isolation, o.Lifecycle.Breaker.Failures = lifecycle.PerCall, 0
			s := New(t.Context(), o)
			s.Start()
			time.Sleep(time.Minute)
			if err := need(s); err == nil || s.State() != Unavailable {
				t.Errorf("while it is away: %v, %s", err, s.State())
			}
			f.refuse(nil)
			if err := need(s); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if s.State() != Up || len(s.o.Shelf.Entry().Tools.Items) != 1 {
				t.Errorf("%s", s.State())
			}
			s.Close("closed")
		}
	})
}

// C6, case-053, case-083: a session that expired is found by a listing: a new one is opened, and the listing made again.
func TestSessionExpiredWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expired atomic.Bool
		var lists atomic.Int64
		d, r := &dialer{Transport: local.New(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodListTools {
				if expired.CompareAndSwap(true, false) {
					return nil, transport.ErrSessionExpired
				}
				lists.Add(1)
			}
			return echo(ctx, req, p)
		}))}, new(recorder)
		o := options("http", d)
		o.Record = r.record
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expired.Store(true)
		time.Sleep(2 * time.Second)
		s.notified(mcp.Notification(mcp.NotifyTools, nil))
		time.Sleep(2 * time.Second)
		if d.dials.Load() != 2 || lists.Load() != 2 || s.State() != Up || r.count("mcp.server.disconnected") != 1 {
			t.Errorf("%d dials, %d listings, %s", d.dials.Load(), lists.Load(), s.State())
		}
		if e := s.o.Shelf.Entry().Tools; e.Err != nil {
			t.Error(e.Err)
		}
	})
}

// C6: the same for a ping.
func TestSessionExpiredFoundByPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expired atomic.Bool
		d := &dialer{Transport: local.New(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if expired.CompareAndSwap(true, false) {
				return nil, transport.ErrSessionExpired
			}
			return echo(ctx, req, p)
		}))}
		s := New(t.Context(), options("http", d))
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expired.Store(true)
		s.Nudge()
		synctest.Wait()
		if d.dials.Load() != 2 || s.State() != Up {
			t.Errorf("%d dials, %s", d.dials.Load(), s.State())
		}
	})
}

// C5: a connection that made up for the failures before it, and is then closed on purpose, leaves a whole ladder.
func TestLadderAfterDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("ws", f)
		o.Lifecycle.Breaker.Failures = 0
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.refuse(errGone)
		f.kill()
		time.Sleep(10 * time.Second) // the last rung but one is behind it
		f.refuse(nil)
		time.Sleep(10 * time.Second)
		if _, err := ask(t.Context(), s, "echo"); err != nil || s.State() != Up {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		f.refuse(errGone)
		before := f.count()
		s.main.drop(s.main.current(), "a test", true)
		time.Sleep(time.Minute)
		if n := f.count() - before; n != 6 {
			t.Errorf("%d dials, want 6", n)
		}
	})
}

// D1, C5: when a connection is closed on purpose, those of the pool are closed, too: they lead to the same server.
func TestDropResetsThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		s := New(t.Context(), options("grpc", f))
		defer s.Close("closed")
		if _, err := ask(t.Context(), s, "echo"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st := s.Status(); st.PoolSize != 2 {
			t.Fatalf("%d in the pool", st.PoolSize)
		}
		s.main.drop(s.main.current(), "a test", true)
		synctest.Wait()
		if st := s.Status(); st.PoolSize != 0 || f.open() != 1 {
			t.Errorf("%d in the pool, %d open", st.PoolSize, f.open())
		}
	})
}

// C5, D3: a server that went while the pool was empty is waited for, as one whose connection was lost.
func TestPoolFindsServerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{Transport: local.New(echo)}
		s := New(t.Context(), options("http", d))
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.fail.Store(true)
		begun := time.Now()
		var calls []<-chan error
		for range 10 {
			calls = append(calls, calling(t, s, "echo"))
		}
		time.Sleep(2 * time.Second)
		d.fail.Store(false)
		for _, c := range calls {
			if err := <-c; err != nil {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
		}
		if took := time.Since(begun); took > 4*time.Second || s.State() != Up {
			t.Errorf("after %v: %s", took, s.State())
		}
	})
}

// C5: a caller that leaves while a connection is doubted doesn't settle the doubt.
func TestDoubtOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woke atomic.Uint64
		f := &far{handler: slow}
		o := options("ws", f)
		o.Woke = woke.Load
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.conns[0].deaf.Store(true)
		f.mu.Unlock()
		woke.Add(1)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(short, s, "echo"); err == nil {
			t.Error("it was answered")
		}
		long, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := ask(long, s, "echo"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// C5: a server that says when it may be asked again isn't dialled before; calls don't wait for a moment that is far off.
func TestDialAfterRetryAfter(t *testing.T) {
	for _, status := range []int{429, 503} {
		synctest.Test(t, func(t *testing.T) {
			f := &far{handler: slow, fail: &transport.StatusError{Status: status, RetryAfter: time.Minute}}
			s := New(t.Context(), options("http", f))
			defer s.Close("closed")
			begun := time.Now()
			_ = s.Settle(t.Context())
			if _, err := ask(t.Context(), s, "echo"); err == nil || time.Since(begun) != 0 || f.count() != 1 {
				t.Errorf("%d: a call meanwhile: %v after %v, %d dials", status, err, time.Since(begun), f.count())
			}
			time.Sleep(59 * time.Second)
			if f.count() != 1 {
				t.Errorf("%d: %d dials within the minute", status, f.count())
			}
			f.refuse(nil)
			time.Sleep(2 * time.Second)
			if f.count() != 2 || s.State() != Up {
				t.Errorf("%d: %d dials, %s", status, f.count(), s.State())
			}
		})
	}
}

// D4, C5: a breaker that the ladder's own failures opened lets calls try as soon as the ladder has reached the server.
func TestBreakerAfterLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		f.refuse(errGone)
		s := New(t.Context(), options("ws", f))
		defer s.Close("closed")
		s.Start()
		time.Sleep(8 * time.Second)
		if s.Status().Breaker != "open" {
			t.Fatal(s.Status().Breaker)
		}
		f.refuse(nil)
		time.Sleep(8 * time.Second)
		if s.State() != Up {
			t.Fatal(s.State())
		}
		if _, err := ask(t.Context(), s, "echo"); err != nil || s.Status().Breaker != "closed" {
			t.Errorf("it is up, but: %v, %s", err, s.Status().Breaker)
		}
	})
}

// C3: a host that ends takes down dials that are under way, and no event calls that a failure of the server.
func TestLifeEndsWhileDialling(t *testing.T) {
	for _, kind := range []string{"stdio", "ws"} {
		synctest.Test(t, func(t *testing.T) {
			r := new(recorder)
			h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			o := options(kind, local.New(h))
			o.Record = r.record
			life, end := context.WithCancel(t.Context())
			s := New(life, o)
			waiting := make(chan error, 1)
			go func() { waiting <- s.Ready(t.Context()) }()
			time.Sleep(time.Second)
			end()
			synctest.Wait()
			s.Close("closed")
			if got := r.take(); len(got) != 1 || got[0].Type() != "mcp.server.shutdown" {
				t.Errorf("%s: %+v", kind, got)
			}
			if err := <-waiting; err == nil {
				t.Error("it is ready")
			}
		})
	}
}

// D2: a call that a limit ends while it waits for its turn to start a process has timed out.
func TestTimeoutInSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		o := options("stdio", f)
		o.Lifecycle.Isolation, o.Slots = lifecycle.PerCall, make(chan struct{}, 1)
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Slots <- struct{}{}
		_, err := s.Do(t.Context(), Call{Request: request("echo"), Tool: "echo", Idle: time.Second})
		if fault.KindOf(err) != fault.Timeout {
			t.Errorf("%v", err)
		}
		<-o.Slots
	})
}

// C1: the lists behind the tools come for each server, however the first listing and the state Up fall together.
func TestRestOfTheLists(t *testing.T) {
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		switch req.Method {
		case mcp.MethodDiscover:
			return mcp.Answer(req.ID, json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{}}}`)), nil
		case mcp.MethodListPrompts:
			return mcp.Answer(req.ID, json.RawMessage(`{"prompts":[{"name":"p"}]}`)), nil
		}
		return echo(ctx, req, p)
	})
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			s := New(t.Context(), options("http", local.New(h)))
			defer s.Close("closed")
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if n := len(s.o.Shelf.Entry().Prompts.Items); n != 1 {
				t.Fatalf("%d prompts", n)
			}
		})
	}
}

// case-034: a restart by hand begins when the start that was under way has ended, with all that it had started.
func TestRestartWaitsForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &port{}
		s := New(t.Context(), options("stdio", p))
		defer s.Close("closed")
		s.Start()
		time.Sleep(time.Second)
		for range 3 {
			go func() { _ = s.Restart(t.Context()) }()
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		if p.most.Load() != 1 || p.dials.Load() != 2 {
			t.Errorf("%d at once, %d starts", p.most.Load(), p.dials.Load())
		}
	})
}

// port is a server that never starts, and takes a while to end.
type port struct{ now, most, dials atomic.Int64 }

func (p *port) Connect(ctx context.Context) (transport.Conn, error) {
	p.dials.Add(1)
	p.most.Store(max(p.most.Load(), p.now.Add(1)))
	defer p.now.Add(-1)
	<-ctx.Done()
	time.Sleep(300 * time.Millisecond)
	return nil, ctx.Err()
}
