package upstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

// attemptTimes makes a call whose attempts end with errs, the last of them again and again, and tells when they began.
func attemptTimes(ctx context.Context, t *testing.T, g *guard, again againFunc, errs ...error) ([]time.Duration, error) {
	t.Helper()
	began := time.Now()
	var at []time.Duration
	var before error
	_, err := g.do(ctx, func(n int, last error) (*mcp.Message, error) {
		at = append(at, time.Since(began))
		if n != len(at) || last != before {
			t.Errorf("attempt %d is called %d, after %v", len(at), n, last)
		}
		before = errs[min(n, len(errs))-1]
		return guardAnswer, before
	}, again)
	return at, err
}

// D3: at once, after 1, 2, 4 and 8 s, ±25 %, and then it's over.
func TestRetryLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		spread := map[bool]int{}
		for range 40 {
			at, err := attemptTimes(t.Context(), t, g, always, guardSaid) // a JSON-RPC error doesn't open the breaker
			if err != error(guardSaid) || len(at) != 6 {
				t.Fatalf("%d attempts, %v", len(at), err)
			}
			for i, want := range []time.Duration{0, 1, 2, 4, 8} {
				wait := at[i+1] - at[i]
				if want *= time.Second; wait < want*3/4 || wait > want*5/4 {
					t.Errorf("wait %d is %v, want %v ± 25 %%", i+1, wait, want)
				}
				spread[wait < want]++
			}
		}
		if spread[true] < 10 || spread[false] < 10 {
			t.Errorf("no jitter: %v", spread)
		}
	})
}

// A6: the minimal preset has fixed intervals.
func TestRetryMinimal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, _ := attemptTimes(t.Context(), t, newGuard(lifecycle.Minimal(), guardHooks{}), always, guardDown)
		for i, want := range []time.Duration{0, 1, 2, 3} {
			if len(at) != 4 || (at[i]-want*time.Second).Abs() > 3*time.Second/4 {
				t.Fatalf("attempts at %v", at)
			}
		}
	})
}

// D3: an answer ends it, and so does an error that isn't to be tried again.
func TestRetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		if at, err := attemptTimes(t.Context(), t, g, always, guardSaid, guardSaid, nil); err != nil || len(at) != 3 {
			t.Errorf("%d attempts, %v", len(at), err)
		}
		final := fault.New(fault.InvalidParams, "")
		once := func(err error) (bool, time.Duration) { return err == error(guardSaid), 0 }
		if at, err := attemptTimes(t.Context(), t, g, once, guardSaid, final); err != error(final) || len(at) != 2 {
			t.Errorf("%d attempts, %v", len(at), err)
		}
	})
}

// D3, D4: each attempt counts; a retry that the breaker would refuse isn't waited for.
func TestRetryOpensBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		began := time.Now()
		at, err := attemptTimes(t.Context(), t, g, always, guardDown)
		if err != error(guardDown) || len(at) != 5 || time.Since(began) != at[4] {
			t.Errorf("attempts at %v, over at %v with %v", at, time.Since(began), err)
		}
		wantKind(t, one(g, nil), fault.BreakerOpen)
	})
}

// A breaker that others open during the wait leaves the error that the call has.
func TestRetryFindsBreakerOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		time.AfterFunc(100*time.Millisecond, func() {
			for range 5 {
				g.dialed(guardDown)
			}
		})
		if at, err := attemptTimes(t.Context(), t, g, always, guardSaid); err != error(guardSaid) || len(at) != 2 {
			t.Errorf("%d attempts, %v", len(at), err)
		}
	})
}

// D3: a wait that wouldn't end before the call's deadline isn't begun.
func TestRetryDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		at, err := attemptTimes(ctx, t, g, always, guardSaid)
		if err != error(guardSaid) || len(at) != 4 || time.Since(began) != at[3] {
			t.Errorf("attempts at %v, over at %v with %v", at, time.Since(began), err)
		}
	})
}

// Retry-After: the least that is waited; more than the ladder ever waits isn't.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		at, err := attemptTimes(t.Context(), t, g, func(error) (bool, time.Duration) { return true, 20 * time.Second }, guardSaid, nil)
		if err != nil || len(at) != 2 || at[1] < 20*time.Second || at[1] > 25*time.Second {
			t.Errorf("attempts at %v, %v", at, err)
		}
		at, err = attemptTimes(t.Context(), t, g, func(error) (bool, time.Duration) { return true, 31 * time.Second }, guardSaid, nil)
		if err != error(guardSaid) || len(at) != 1 {
			t.Errorf("attempts at %v, %v", at, err)
		}
	})
}

// A call that is cancelled while it waits is cancelled; one whose attempt was answered at that moment has its answer.
func TestRetryCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{Server: "s"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		at, err := attemptTimes(ctx, t, g, always, guardSaid)
		if e := wantKind(t, err, fault.Cancelled); len(at) != 2 || e.Server != "s" || time.Since(began) != 100*time.Millisecond {
			t.Errorf("attempts at %v, over at %v with %v", at, time.Since(began), err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		answer, err := g.do(ctx, func(n int, _ error) (*mcp.Message, error) {
			if n == 1 {
				return nil, guardSaid
			}
			cancel()
			return guardAnswer, nil
		}, always)
		if answer != guardAnswer || err != nil {
			t.Errorf("the answer got lost: %v", err)
		}
	})
}

// While a call waits for its next attempt, others have its place.
func TestRetryLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.Default()
		s.Concurrent = 1
		g := newGuard(s, guardHooks{})
		over := make(chan struct{})
		go func() {
			defer close(over)
			attemptTimes(t.Context(), t, g, always, guardSaid, guardSaid, nil)
		}()
		synctest.Wait() // it waits for a second
		began := time.Now()
		if err := one(g, nil); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		<-over
	})
}
