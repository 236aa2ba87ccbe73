// Package resume holds our client against the official SDK's server over a network that cuts, delays, resets and swallows:
// what a server says on a stream of events comes once and in order, and a tool that was called once runs once at most.
//
// All runs in fake time. A seed decides what befalls each connection and when a tool speaks, but not the order in which
// goroutines that could run do. To replay a seed: go test ./test/resume -run TestStorm -seed 17 -v; more of them: -seeds 2000.
package resume

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

var (
	oneSeed = flag.Uint64("seed", 0, "replay this seed alone")
	seeds   = flag.Uint64("seeds", 40, "how many seeds are run, from 1")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	callers = 4 // at once
	each    = 5 // calls of each
	reports = 12
	limit   = 10 * time.Minute // of one call
)

// C5: what belongs to a call comes once and in order, over however many connections. A call may fail: if its connection
// broke before the server had given it an id to resume from, or if nothing came several times in a row. Then what came
// until then is what the server said first.
func TestStorm(t *testing.T) {
	var all tally
	from, to := uint64(1), *seeds
	if *oneSeed != 0 {
		from, to = *oneSeed, *oneSeed
	}
	for seed := from; seed <= to; seed++ {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed, &all) })
		})
		if !ok {
			t.Fatalf("replay it: go test ./test/resume -run TestStorm -seed %d -v", seed)
		}
	}
	t.Logf("%d seeds: %d calls, %d answered, %d refused before they were sent; streams resumed %d times; %d connections ended by a fault; "+
		"%d messages outside of calls, %d of %d streams for them alive at the end",
		to-from+1, all.calls, all.answered, all.unsent, all.resumed, all.ended, all.unasked, all.alive, to-from+1)
	if *oneSeed == 0 && (all.answered*2 < all.calls || all.resumed*3 < all.answered || all.unasked*5 < all.calls || all.alive*2 < int(to)) {
		t.Error("the storm shows too little")
	}
}

// tally is what happened in all seeds.
type tally struct{ calls, answered, unsent, resumed, ended, unasked, alive int }

func storm(t *testing.T, seed uint64, all *tally) {
	w := newWorld(t)
	defer w.close()
	w.net.Plan(transporttest.Faults(seed, 6000))
	w.net.Break(transporttest.Cut)
	results := w.callAll(t, seed)
	for _, r := range results {
		w.check(t, r, all)
	}
	w.checkUnasked(t, all)
	all.ended += w.net.Ended()
	all.resumed += w.resumed()
	t.Logf("%s; %d streams resumed", w.net.Report(), w.resumed())
}

// check holds one call against what its server did.
func (w *world) check(t *testing.T, r result, all *tally) {
	t.Helper()
	ran := w.runs(r.name)
	all.calls++
	want := expected(r.name)
	switch {
	case ran > 1:
		t.Errorf("%s ran %d times", r.name, ran)
	case r.err == nil:
		all.answered++
		if ran != 1 || r.answer != "done "+r.name || strings.Join(r.heard, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s ran %d times, was answered with %q, and heard %q", r.name, ran, r.answer, r.heard)
		}
	default:
		if len(r.heard) > len(want) || strings.Join(r.heard, "\n") != strings.Join(want[:len(r.heard)], "\n") {
			t.Errorf("%s failed (%v) and heard %q", r.name, r.err, r.heard)
		}
		if errors.Is(r.err, transport.ErrNotSent) {
			all.unsent++
			if ran > 0 {
				t.Errorf("%s ran, but failed as not sent: %v", r.name, r.err)
			}
		}
		switch fault.KindOf(r.err) {
		case fault.Unavailable, fault.Restarted, fault.Timeout:
		default:
			t.Errorf("%s failed with %v", r.name, r.err)
		}
	}
}

// expected is what a call of that name is told.
func expected(name string) (all []string) {
	for i := range reports {
		all = append(all, line("progress", name, i), line("log", name, i))
	}
	return all
}

func line(what, name string, i int) string { return fmt.Sprintf("%s %s %d", what, name, i) }

// checkUnasked: what the server says outside of calls comes once and in order, also while nobody was connected.
func (w *world) checkUnasked(t *testing.T, all *tally) {
	t.Helper()
	w.net.Plan(func(int) transporttest.Fault { return transporttest.Fault{} })
	time.Sleep(5 * time.Minute) // the stream is opened again, unless it was given up for good
	synctest.Wait()
	said, heard := w.unasked()
	all.unasked += len(heard)
	if stream := w.session.Describe().Stream; stream != "open" {
		if len(heard) > len(said) || strings.Join(heard, "\n") != strings.Join(said[:len(heard)], "\n") {
			t.Errorf("the stream is %q; said %q, heard %q", stream, said, heard)
		}
		return
	}
	all.alive++
	if strings.Join(said, "\n") != strings.Join(heard, "\n") {
		t.Errorf("said\n%q, heard\n%q", said, heard)
	}
}
