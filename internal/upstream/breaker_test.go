package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

// opens fails as often as it takes.
func opens(t *testing.T, g *guard) {
	t.Helper()
	for range 5 {
		one(g, guardDown)
	}
	if g.state() != "open" {
		t.Fatalf("after five failures it is %s", g.state())
	}
}

// holds starts a call that lasts until its error is sent.
func holds(g *guard, calls *sync.WaitGroup) chan error {
	end := make(chan error)
	calls.Go(func() {
		g.do(context.Background(), func(int, error) (*mcp.Message, error) {
			err := <-end
			return guardAnswer, err
		}, never)
	})
	synctest.Wait()
	return end
}

// D4, case-075: closed, open, half open, closed, with each default.
func TestBreakerRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		g := newGuard(lifecycle.Default(), guardHooks{Server: "s", Breaker: func(from, to string) {
			told = append(told, from+">"+to)
		}})
		for range 4 {
			one(g, guardDown)
		}
		for range 100 {
			one(g, nil) // successes between them change nothing
		}
		if g.state() != "closed" {
			t.Fatalf("after four failures it is %s", g.state())
		}
		one(g, guardDown)
		if g.state() != "open" {
			t.Fatalf("after five failures it is %s", g.state())
		}
		for _, test := range []struct {
			later time.Duration
			want  string
		}{{0, "will retry in 30 s"}, {6500 * time.Millisecond, "will retry in 24 s"}, {23*time.Second + 499*time.Millisecond, "will retry in 1 s"}} {
			time.Sleep(test.later)
			_, err := g.do(t.Context(), func(int, error) (*mcp.Message, error) { t.Error("sent"); return nil, nil }, always)
			if e := wantKind(t, err, fault.BreakerOpen); !strings.HasSuffix(e.Text(fault.English), test.want) || e.Server != "s" {
				t.Errorf("got %q, want %q", e.Text(fault.English), test.want)
			}
		}
		time.Sleep(time.Millisecond)
		if g.state() != "half-open" {
			t.Errorf("30 s later it is %s", g.state())
		}
		if err := one(g, nil); err != nil || g.state() != "closed" {
			t.Errorf("the probe had %v and left it %s", err, g.state())
		}
		if want := []string{"closed>open", "open>half-open", "half-open>closed"}; !slices.Equal(told, want) {
			t.Errorf("told %v", told)
		}
		for range 4 {
			one(g, guardDown)
		}
		if g.state() != "closed" {
			t.Error("failures from before it opened still count")
		}
	})
}

// D4: the window slides; failsafe moves it by tenths.
func TestBreakerWindow(t *testing.T) {
	for _, test := range []struct {
		between time.Duration
		want    string
	}{{13400 * time.Millisecond, "open"}, {15 * time.Second, "closed"}} { // the first is 53.6 s or 60 s old at the fifth
		t.Run(test.between.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(5 * time.Second) // not at the start of a tenth
				g := newGuard(lifecycle.Default(), guardHooks{})
				for i := range 5 {
					if i > 0 {
						time.Sleep(test.between)
					}
					one(g, guardDown)
				}
				if g.state() != test.want {
					t.Errorf("it is %s, want %s", g.state(), test.want)
				}
			})
		})
	}
}

// D4: three probes at once and no more; one that fails opens it again for the whole cooldown.
func TestBreakerProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		opens(t, g)
		time.Sleep(30 * time.Second)
		var calls sync.WaitGroup
		a, b, c := holds(g, &calls), holds(g, &calls), holds(g, &calls)
		e := wantKind(t, one(g, nil), fault.BreakerOpen)
		if e.Detail != "it is being tried with other calls just now" {
			t.Errorf("detail %q", e.Detail)
		}
		a <- guardDown
		synctest.Wait()
		if e := wantKind(t, one(g, nil), fault.BreakerOpen); e.Retry != 30*time.Second {
			t.Errorf("after a failed probe: %v", e.Retry)
		}
		b <- nil // too late: from a round that is over
		synctest.Wait()
		if g.state() != "open" {
			t.Errorf("a late success left it %s", g.state())
		}
		time.Sleep(30 * time.Second)
		d, e2 := holds(g, &calls), holds(g, &calls) // and c hangs
		wantKind(t, one(g, nil), fault.BreakerOpen)
		c <- guardDown // of the round before
		synctest.Wait()
		if g.state() != "half-open" {
			t.Errorf("a late failure left it %s", g.state())
		}
		d <- nil
		synctest.Wait()
		if g.state() != "closed" {
			t.Errorf("a probe that succeeded left it %s", g.state())
		}
		e2 <- guardDown
		synctest.Wait()
		if g.state() != "closed" {
			t.Errorf("a probe that failed after it closed left it %s", g.state())
		}
		calls.Wait()
	})
}

// D4: calls that were let through before it opened say nothing of the time after, and hold no probe.
func TestBreakerLateCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		var calls sync.WaitGroup
		var old []chan error
		for range 10 {
			old = append(old, holds(g, &calls))
		}
		opens(t, g)
		time.Sleep(30 * time.Second)
		probe := holds(g, &calls)
		for i, end := range old {
			end <- []error{nil, guardDown}[i%2]
		}
		synctest.Wait()
		if g.state() != "half-open" {
			t.Errorf("it is %s", g.state())
		}
		others := []chan error{holds(g, &calls), holds(g, &calls)}
		wantKind(t, one(g, nil), fault.BreakerOpen)
		for _, end := range append(others, probe) {
			end <- nil
		}
		calls.Wait()
	})
}

// A cancelled probe counts neither way, however many there are, and the next one may take its place.
func TestBreakerCancelledProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		opens(t, g)
		time.Sleep(30 * time.Second)
		for range 1000 {
			wantKind(t, one(g, fault.New(fault.Cancelled, "")), fault.Cancelled)
		}
		if g.state() != "half-open" {
			t.Errorf("it is %s", g.state())
		}
		if err := one(g, nil); err != nil || g.state() != "closed" {
			t.Errorf("%v, %s", err, g.state())
		}
	})
}

// C5, D4: dials count and are never blocked; one that succeeds closes nothing, but lets calls try.
func TestBreakerDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lifecycle.Default(), guardHooks{})
		for range 4 {
			g.dialed(guardDown)
			g.dialed(nil)
			g.dialed(fault.New(fault.Auth, ""))
		}
		if g.state() != "closed" {
			t.Errorf("after four failed dials it is %s", g.state())
		}
		g.dialed(guardDown)
		g.dialed(nil)
		if g.state() != "open" {
			t.Errorf("after five failed dials it is %s", g.state())
		}
		g.reached()
		if g.state() != "half-open" {
			t.Errorf("once the server was reached it is %s", g.state())
		}
		g.dialed(guardDown)
		time.Sleep(30 * time.Second)
		wantKind(t, one(g, fault.New(fault.Cancelled, "")), fault.Cancelled)
		g.dialed(nil)
		if g.state() != "half-open" {
			t.Errorf("a dial that succeeded left it %s", g.state())
		}
		g.dialed(guardDown)
		if g.state() != "open" {
			t.Errorf("a dial that failed left it %s", g.state())
		}
		newGuard(lifecycle.Minimal(), guardHooks{}).dialed(guardDown)
		newGuard(lifecycle.Minimal(), guardHooks{}).reached()
	})
}

// A6: the presets without a breaker have no state and never refuse.
func TestBreakerNone(t *testing.T) {
	g := newGuard(lifecycle.Professional(), guardHooks{})
	for range 50 {
		wantKind(t, one(g, guardDown), fault.Unavailable)
	}
	g.reset()
	if g.state() != "" {
		t.Errorf("state %q", g.state())
	}
}

// The hook may ask the guard, and what it is told is a chain, whoever caused it.
func TestBreakerHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lifecycle.Default()
		s.Breaker.Failures, s.Breaker.Cooldown = 1, time.Millisecond
		at := "closed"
		var g *guard
		var inside atomic.Int32
		changes := 0
		g = newGuard(s, guardHooks{Breaker: func(from, to string) {
			if inside.Add(1) != 1 {
				t.Error("told twice at once")
			}
			defer inside.Add(-1)
			g.state()
			time.Sleep(3 * time.Millisecond) // others change it meanwhile
			if from != at {
				t.Errorf("from %s, but it was %s", from, at)
			}
			at = to
			changes++
		}})
		var calls sync.WaitGroup
		for seed := range uint64(8) {
			calls.Go(func() {
				random := rand.New(rand.NewPCG(seed, 1))
				for range 200 {
					one(g, []error{nil, guardDown}[random.IntN(2)])
					time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
				}
			})
		}
		calls.Wait()
		if changes < 10 {
			t.Errorf("only %d changes", changes)
		}
	})
}

// D4: whatever happens in whichever order, there are never more than three probes, and none gets lost.
func TestBreakerSeeds(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuard(lifecycle.Default(), guardHooks{})
				outcomes := []error{nil, guardDown, guardDown, fault.New(fault.Cancelled, ""), guardSaid, noConnection(guardDown)}
				var calls sync.WaitGroup
				for n := range uint64(20) {
					calls.Go(func() {
						random := rand.New(rand.NewPCG(seed, n))
						for range 50 {
							end := outcomes[random.IntN(len(outcomes))]
							last := time.Duration(random.IntN(40)) * time.Second
							g.do(t.Context(), func(int, error) (*mcp.Message, error) {
								g.breaker.mu.Lock()
								if g.breaker.probes > 3 {
									t.Errorf("%d probes", g.breaker.probes)
								}
								g.breaker.mu.Unlock()
								time.Sleep(last)
								return guardAnswer, end
							}, never)
							time.Sleep(time.Duration(random.IntN(10)) * time.Second)
						}
					})
				}
				calls.Wait()
				if g.breaker.probes != 0 {
					t.Errorf("%d probes are left", g.breaker.probes)
				}
				time.Sleep(30 * time.Second)
				if err := one(g, nil); err != nil || g.state() != "closed" {
					t.Errorf("it doesn't heal: %v, %s", err, g.state())
				}
			})
		})
	}
}
