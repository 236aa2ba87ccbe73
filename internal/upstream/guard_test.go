package upstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

var (
	guardAnswer = &mcp.Message{ID: "1", Result: []byte(`{}`)}
	guardDown   = fault.New(fault.Unavailable, "nobody listens")
	guardSaid   = &fault.Error{Kind: fault.ServerError, Code: -32000, Detail: "no"} // a JSON-RPC error
)

// ends is a try that ends with err each time.
func ends(err error) tryFunc {
	return func(int, error) (*mcp.Message, error) {
		if err != nil {
			return nil, err
		}
		return guardAnswer, nil
	}
}

func never(error) (bool, time.Duration)  { return false, 0 }
func always(error) (bool, time.Duration) { return true, 0 }

// one makes a single attempt that ends with err.
func one(g *guard, err error) error {
	_, got := g.do(context.Background(), ends(err), never)
	return got
}

func wantKind(t *testing.T, err error, k fault.Kind) *fault.Error {
	t.Helper()
	if err == nil || fault.KindOf(err) != k {
		t.Fatalf("error %v, want one of kind %s", err, k)
	}
	return fault.Of(err)
}

// D3: an answer is handed through, and so is what may not be tried again.
func TestGuardOneAttempt(t *testing.T) {
	for _, s := range []lifecycle.Settings{lifecycle.Default(), lifecycle.Professional(), lifecycle.Minimal(), {}} {
		g := newGuard(s, guardHooks{})
		if answer, err := g.do(t.Context(), ends(nil), never); answer != guardAnswer || err != nil {
			t.Errorf("got %v, %v", answer, err)
		}
		if err := one(g, guardSaid); err != error(guardSaid) {
			t.Errorf("got %v, not the very error of the attempt", err)
		}
		if _, err := g.do(t.Context(), ends(guardSaid), nil); err != error(guardSaid) {
			t.Errorf("without a rule for retries: %v", err)
		}
	}
}

// D4: so many calls at once as the settings say, in the order they came; the rest waits for as long as it may.
func TestGuardConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.Default()
		g := newGuard(s, guardHooks{Server: "s"})
		hold := make(chan struct{})
		var now, most atomic.Int64
		var calls sync.WaitGroup
		for range s.Concurrent + 100 {
			calls.Go(func() {
				_, err := g.do(t.Context(), func(int, error) (*mcp.Message, error) {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					<-hold
					now.Add(-1)
					return guardAnswer, nil
				}, never)
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if now.Load() != 512 {
			t.Errorf("%d calls run at once, want 512", now.Load())
		}

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := g.do(ctx, func(int, error) (*mcp.Message, error) { t.Error("sent"); return nil, nil }, always)
		if e := wantKind(t, err, fault.Timeout); e.Server != "s" || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", e, time.Since(began))
		}
		cancelled, cancelIt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancelIt)
		_, err = g.do(cancelled, ends(nil), always)
		wantKind(t, err, fault.Cancelled)
		patient, stop := context.WithCancelCause(t.Context())
		stop(fault.New(fault.Timeout, "30 s without progress"))
		_, err = g.do(patient, ends(nil), always)
		if e := wantKind(t, err, fault.Timeout); e.Detail != "30 s without progress" {
			t.Errorf("the clock that ended it isn't named: %v", e)
		}

		close(hold)
		calls.Wait()
		if most.Load() != 512 {
			t.Errorf("%d calls ran at once, want 512", most.Load())
		}
	})
}

// D4: who waits for room when the breaker opens fails at once, and nothing of it is sent.
func TestGuardQueueEndsWhenBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.Default()
		s.Concurrent = 1
		g := newGuard(s, guardHooks{})
		hold := make(chan struct{})
		var calls sync.WaitGroup
		calls.Go(func() {
			g.do(t.Context(), func(int, error) (*mcp.Message, error) { <-hold; return guardAnswer, nil }, never)
		})
		synctest.Wait()
		var over atomic.Int64
		for range 50 {
			calls.Go(func() {
				defer over.Add(1)
				_, err := g.do(t.Context(), func(int, error) (*mcp.Message, error) { t.Error("sent"); return nil, nil }, always)
				if fault.KindOf(err) != fault.BreakerOpen {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		for range 5 {
			g.dialed(guardDown)
		}
		synctest.Wait()
		if over.Load() != 50 {
			t.Errorf("%d of 50 calls have failed", over.Load())
		}
		_, err := g.do(t.Context(), ends(nil), never)
		wantKind(t, err, fault.BreakerOpen) // though there is no room
		if time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}

		time.Sleep(30 * time.Second)
		waits := func() { // until its own time is over
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := g.do(ctx, ends(nil), never)
			wantKind(t, err, fault.Timeout)
		}
		waits()
		g.dialed(guardDown) // half open, and open again
		_, err = g.do(t.Context(), ends(nil), never)
		wantKind(t, err, fault.BreakerOpen)
		time.Sleep(30 * time.Second)
		close(hold)
		calls.Wait()
		if err := one(g, nil); err != nil || g.state() != "closed" {
			t.Errorf("%v, %s", err, g.state())
		}
		hold = make(chan struct{})
		calls.Go(func() {
			g.do(t.Context(), func(int, error) (*mcp.Message, error) { <-hold; return guardAnswer, nil }, never)
		})
		synctest.Wait()
		waits()
		close(hold)
		calls.Wait()
	})
}

// D4: what counts as a failure of the server.
func TestGuardJudge(t *testing.T) {
	status := func(code int) error {
		return &fault.Error{Kind: fault.ServerError, Cause: &transport.StatusError{Status: code}}
	}
	for _, test := range []struct {
		err  error
		want verdict
	}{
		{nil, good},
		{guardDown, bad},
		{fault.New(fault.Restarted, ""), bad},
		{fault.New(fault.Unstable, ""), bad},
		{fault.New(fault.Timeout, ""), bad},
		{fault.New(fault.Protocol, ""), bad},
		{status(500), bad}, {status(503), bad},
		{status(400), good}, {status(429), good}, {guardSaid, good}, {fault.New(fault.TooLarge, ""), good},
		{fault.New(fault.Cancelled, ""), unclear},
		{fault.New(fault.SessionExpired, ""), unclear},
		{fault.New(fault.Auth, ""), unclear},
		{fault.New(fault.InvalidParams, ""), unclear},
		{fault.New(fault.NotFound, ""), unclear},
		{fault.New(fault.PermissionDenied, ""), unclear},
		{fault.New(fault.LogUnavailable, ""), unclear},
		{context.Canceled, unclear},
	} {
		if got := judge(test.err); got != test.want {
			t.Errorf("%v: verdict %d, want %d", test.err, got, test.want)
		}
	}
}

// A try that panics leaves neither its place nor its probe behind.
func TestGuardPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.Default()
		s.Concurrent, s.Breaker.Probes = 1, 1
		g := newGuard(s, guardHooks{})
		opens(t, g)
		time.Sleep(s.Breaker.Cooldown)
		for range 3 {
			func() {
				defer func() { _ = recover() }()
				g.do(t.Context(), func(int, error) (*mcp.Message, error) { panic("bug") }, never)
			}()
		}
		if g.state() != "half-open" {
			t.Errorf("it is %s", g.state())
		}
		if err := one(g, nil); err != nil {
			t.Error(err)
		}
	})
}

// A connection that couldn't be had was counted when it was dialled, not for each call that wanted it.
func TestGuardNoConnection(t *testing.T) {
	g := newGuard(lifecycle.Default(), guardHooks{})
	var seen error
	for range 20 {
		_, err := g.do(t.Context(), ends(noConnection(guardDown)), func(err error) (bool, time.Duration) { seen = err; return false, 0 })
		if err != error(guardDown) || seen != err {
			t.Fatalf("got %v, again got %v: the mark is still there", err, seen)
		}
	}
	if g.state() != "closed" || noConnection(nil) != nil {
		t.Errorf("state %s", g.state())
	}
	for range 5 {
		g.dialed(guardDown)
	}
	if g.state() != "open" {
		t.Errorf("after 5 failed dials it is %s", g.state())
	}
	g.reset()
	if err := one(g, nil); err != nil || g.state() != "closed" {
		t.Errorf("after a reset: %v, %s", err, g.state())
	}
}

func TestGuardUnconnectedIsUnwrapped(t *testing.T) {
	if err := noConnection(guardDown); !errors.Is(err, guardDown) || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkGuard(b *testing.B) {
	call := ends(nil)
	ctx := context.Background()
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := call(1, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, test := range []struct {
		name string
		s    lifecycle.Settings
	}{{"default", lifecycle.Default()}, {"no breaker", lifecycle.Professional()}} {
		b.Run(test.name, func(b *testing.B) {
			g := newGuard(test.s, guardHooks{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.do(ctx, call, never); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := g.do(ctx, call, never); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("one retry", func(b *testing.B) {
		g := newGuard(lifecycle.Professional(), guardHooks{})
		b.ReportAllocs()
		for b.Loop() {
			_, err := g.do(ctx, func(n int, _ error) (*mcp.Message, error) {
				if n == 1 {
					return nil, guardDown
				}
				return guardAnswer, nil
			}, always)
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		for range 5 {
			g.dialed(guardDown)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.do(ctx, call, never); err == nil {
				b.Fatal("let through")
			}
		}
	})
}
