package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// C5: a remote server that is lost is dialled at once, then after 1, 2, 4 and 8 s; after the sixth failure nobody tries
// until the next call, which dials once.
func TestReconnectLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := &far{handler: slow}, new(recorder)
		o := options("ws", f)
		o.Record, o.Lifecycle.Breaker.Failures = r.record, 0 // that is for TestBreakerGuardsDials
		s := New(t.Context(), o)
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.refuse(errGone)
		begun := time.Now()
		f.kill()
		var at []time.Duration
		for n, over := f.count(), false; !over; time.Sleep(time.Millisecond) {
			synctest.Wait()
			if now := f.count(); now > n {
				n, at = now, append(at, time.Since(begun).Round(10*time.Millisecond))
			}
			over = s.State() == Unavailable
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}
		if len(at) != len(want) {
			t.Fatalf("dialled at %v", at)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("dialled at %v, want %v", at, want)
				break
			}
		}
		if r.count("mcp.server.crashed") != 1 || r.count("mcp.server.disconnected") != 4 || r.count("mcp.server.unavailable") != 1 {
			t.Errorf("%+v", r.take())
		}
		time.Sleep(24 * time.Hour)
		if n := f.count(); n != 6 {
			t.Errorf("%d dials in the background", n-6)
		}
		if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable || f.count() != 7 {
			t.Errorf("the next call: %v, %d dials", err, f.count()-6)
		}
		f.refuse(nil)
		if _, err := ask(t.Context(), s, "echo"); err != nil || s.State() != Up {
			t.Errorf("once it is back: %v", err)
		}
	})
}

// C5: calls wait while a remote server is dialled again, each until its own deadline.
func TestCallsWaitForReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{handler: slow}
		s := New(t.Context(), options("ws", f))
		defer s.Close("closed")
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.refuse(errGone)
		f.kill()
		synctest.Wait()
		begun := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := ask(short, s, "echo"); fault.KindOf(err) != fault.Timeout || time.Since(begun) != 500*time.Millisecond {
			t.Errorf("a short one: %v after %v", err, time.Since(begun))
		}
		long := calling(t, s, "echo")
		time.Sleep(time.Second)
		f.refuse(nil)
		if err := <-long; err != nil || time.Since(begun) != 3*time.Second { // the next rung
			t.Errorf("a long one: %v after %v", err, time.Since(begun))
		}
	})
}

// C5, case-039: what the same credentials and arguments would only meet again isn't tried again.
func TestHopelessDial(t *testing.T) {
	for status, dials := range map[int]int{400: 1, 401: 1, 403: 1, 404: 1, 410: 1, 408: 6, 429: 6, 500: 6, 503: 6} {
		synctest.Test(t, func(t *testing.T) {
			f := &far{handler: slow, fail: &transport.StatusError{Status: status}}
			o := options("http", f)
			o.Lifecycle.Breaker.Failures = 0
			s := New(t.Context(), o)
			defer s.Close("closed")
			if err := s.main.await(t.Context(), Unavailable); err != nil || f.count() != dials {
				t.Errorf("%d: %d dials, want %d, %v", status, f.count(), dials, err)
			}
		})
	}
}

// C5: three network errors of calls in a row close the connection on purpose; a success in between starts anew.
func TestErrorsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := make(chan bool, 10)
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodCallTool && <-fails {
				return nil, errGone
			}
			return echo(ctx, req, p)
		})
		f, r := &dialer{Transport: local.New(h)}, new(recorder)
		o := options("http", f)
		o.Record, o.Lifecycle.Pool.Max, o.Lifecycle.Breaker.Failures = r.record, 0, 0
		s := New(t.Context(), o)
		defer s.Close("closed")
		for _, fail := range []bool{true, true, false, true, true, false} {
			fails <- fail
			_, _ = ask(t.Context(), s, "echo")
		}
		synctest.Wait()
		if f.dials.Load() != 1 {
			t.Errorf("%d dials after never more than two in a row", f.dials.Load())
		}
		for range 3 {
			fails <- true
			_, _ = ask(t.Context(), s, "echo")
		}
		synctest.Wait()
		if f.dials.Load() != 2 || r.count("mcp.server.disconnected") != 1 || s.State() != Up {
			t.Errorf("%d dials, %s", f.dials.Load(), s.State())
		}
	})
}
