package many_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher"
)

// D1, case-005: ten sessions on one server are one process, and sessions that come and go cost no memory.
func TestTenSessionsShareOneServer(t *testing.T) {
	w := newWorld(t)
	w.add("one")
	h, closeAll := w.open(t)
	defer closeAll()
	const n = 150
	rounds(t, h, 60) // pools and buffers have their size now
	before := heap()
	rounds(t, h, n)
	grown := heap() - before
	t.Logf("%d sessions later, %d more bytes are in use", 10*n, grown)
	if grown > 768<<10 {
		t.Errorf("memory grew by %d bytes, which is %d for each session", grown, grown/(10*n))
	}
	starts := 0
	for _, n := range w.notes(t, "one") {
		if n.what == "start" {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("the server was started %d times", starts)
	}
}

// rounds opens ten sessions that call at once, and closes them, n times.
func rounds(t *testing.T, h *usher.Host, n int) {
	t.Helper()
	for range n {
		var wg sync.WaitGroup
		for range 10 {
			s := session(t, h)
			wg.Go(func() {
				defer s.Close("done")
				for range 3 {
					if err := call(t, s, "one"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
}

const (
	slowness = 40 * time.Millisecond
	busy     = 8 // calls that the slow server has all the time
)

// A5: a slow server costs nobody else anything. Turns with it and without it alternate; their medians are the same, but
// for what they differ among themselves.
func TestSlowServerCostsNobodyAnything(t *testing.T) {
	w := newWorld(t)
	w.add("fast")
	w.add("slow", "-work", slowness.String())
	h, closeAll := w.open(t)
	defer closeAll()
	s := session(t, h)
	defer s.Close("done")
	turn(t, s) // warm
	var alone, beside []time.Duration
	for range 7 {
		alone = append(alone, turn(t, s))
		stop := keepBusy(t, s)
		beside = append(beside, turn(t, s))
		stop()
	}
	slices.Sort(alone)
	slices.Sort(beside)
	t.Logf("alone %v, beside %v", alone, beside)
	noise := alone[len(alone)-1] - alone[0]
	if limit := 2*median(alone) + noise; median(beside) > limit || median(beside) > slowness/4 {
		t.Errorf("a call takes %v next to a slow server, without it %v", median(beside), median(alone))
	}
}

// turn is the median time of a call to the fast server.
func turn(t *testing.T, s *usher.Session) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 200 {
		begun := time.Now()
		if err := call(t, s, "fast"); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	return median(times)
}

func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

// keepBusy gives the slow server its calls, from now until stop is called. It has them at once: none waits for another.
func keepBusy(t *testing.T, s *usher.Session) (stop func()) {
	over := make(chan struct{})
	var mu sync.Mutex
	var wg sync.WaitGroup
	var times []time.Duration
	for range busy {
		wg.Go(func() {
			for {
				begun := time.Now()
				err := call(t, s, "slow")
				mu.Lock()
				times = append(times, time.Since(begun))
				mu.Unlock()
				select {
				case <-over:
					return
				default:
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(over)
		wg.Wait()
		slices.Sort(times)
		if m := median(times); m < slowness || m > 3*slowness {
			t.Errorf("a call to the slow server takes %v with %d at once", m, busy)
		}
	}
}
