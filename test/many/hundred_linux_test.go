package many_test

import (
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
)

const (
	servers = 100
	victims = 30
	atOnce  = 3 // servers that start (C8)
)

// B9, C2, C8, case-050: a hundred servers start three at a time, thirty are killed and come back, and all are gone when they have
// to be; of them nothing is left. A third each ends on SIGINT, on SIGTERM, and only by SIGKILL.
func TestHundredServers(t *testing.T) {
	for name, watched := range map[string]bool{"watchdog": true, "direct": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.watched = watched
			for i := range servers {
				w.add(numbered(i), "-greet", "5ms", "-dies", [...]string{"int", "term", "kill"}[i%3])
			}
			none := goleak.IgnoreCurrent()
			files, memory := openFiles(t), heap()
			testHundred(t, w)
			if now := openFiles(t); now > files {
				t.Errorf("%d files are open, before there were %d", now, files)
			}
			if grown := heap() - memory; grown > 4<<20 {
				t.Errorf("%d more bytes are in use than before", grown)
			}
			if err := goleak.Find(none); err != nil {
				t.Error(err)
			}
		})
	}
}

func testHundred(t *testing.T, w *world) {
	h, closeAll := w.open(t)
	if most := w.startedAtOnce(t); most > atOnce || most < 2 {
		t.Errorf("%d servers were starting at once", most)
	}
	testKill(t, h)
	pids := map[string]int{}
	for _, s := range h.Servers() {
		pids[s.Name] = s.PID
	}
	all := make([]int, 0, servers)
	for _, pid := range pids {
		all = append(all, pid)
	}
	d := watchDeaths(t, all)
	var ended map[int]time.Time
	var wg sync.WaitGroup
	lateness := measureLateness()
	wg.Go(func() { ended = d.wait(10 * time.Second) })
	begun := time.Now()
	closeAll()
	took := time.Since(begun)
	wg.Wait()
	late := hops * lateness()
	t.Logf("Close took %v; timers were up to %v late", took, late/hops)
	if took > 1500*time.Millisecond+late {
		t.Errorf("Close took %v", took)
	}
	for name, pid := range pids {
		w.checkEnd(t, name, begun, ended[pid], pid, late)
	}
	if left := childrenIn(t, w.dir); len(left) > 0 {
		t.Errorf("%d processes are left: %q", len(left), left)
	}
}

// hops is how many wake-ups in a row it takes to end a server; each may be as late as the worst timer.
const hops = 2

// measureLateness finds out how much later than due timers fire on this machine until the function that it returns is
// called. Who ends a server can't be more punctual.
func measureLateness() (stop func() time.Duration) {
	over, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			const every = 2 * time.Millisecond
			due := time.Now().Add(every)
			select {
			case <-time.After(every):
				most = max(most, time.Since(due))
			case <-over:
				worst <- most
				return
			}
		}
	}()
	return func() time.Duration { close(over); return <-worst }
}

// checkEnd holds what a server noted against when it was gone.
func (w *world) checkEnd(t *testing.T, name string, closing, ended time.Time, pid int, late time.Duration) {
	t.Helper()
	var signals []note
	for _, n := range w.notes(t, name) {
		if n.pid == pid && (n.what == "interrupt" || n.what == "terminated") {
			signals = append(signals, n)
		}
	}
	switch {
	case ended.IsZero() || ended.Sub(closing) > 1500*time.Millisecond+late:
		t.Errorf("%s was gone %v after Close began", name, ended.Sub(closing))
	case len(signals) == 0 || signals[0].what != "interrupt":
		t.Errorf("%s noted the signals %v", name, signals)
	case ended.Sub(signals[0].at) > 600*time.Millisecond+late:
		t.Errorf("%s was gone %v after its first signal", name, ended.Sub(signals[0].at))
	}
}

// startedAtOnce is how many servers were between their start and their list of tools at the same time, by their own
// word. They were so for a little longer, from the host's side.
func (w *world) startedAtOnce(t *testing.T) (most int) {
	t.Helper()
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for i := range servers {
		for _, n := range w.notes(t, numbered(i)) {
			switch n.what {
			case "start":
				edges = append(edges, edge{n.at, 1})
			case "listed":
				edges = append(edges, edge{n.at, -1})
			}
		}
	}
	if len(edges) != 2*servers {
		t.Errorf("%d starts and lists of %d servers", len(edges), servers)
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	now := 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

// testKill kills some; they come back, and the others notice nothing.
func testKill(t *testing.T, h *usher.Host) {
	before, killed := map[string]int{}, map[string]bool{}
	for i := range victims {
		killed[numbered(i)] = true
	}
	for _, s := range h.Servers() {
		before[s.Name] = s.PID
		if killed[s.Name] {
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := session(t, h)
	defer s.Close("done")
	var wg sync.WaitGroup
	for i := victims; i < servers; i++ {
		wg.Go(func() {
			if err := call(t, s, numbered(i)); err != nil {
				t.Errorf("%s, which was not killed: %v", numbered(i), err)
			}
		})
	}
	wg.Wait()
	for i := range victims {
		eventually(t, numbered(i)+" answers again", func() bool { return call(t, s, numbered(i)) == nil })
	}
	for _, now := range h.Servers() {
		if same := now.PID == before[now.Name]; same == killed[now.Name] || now.State != "up" {
			t.Errorf("%s is %s as process %s, before it was %d", now.Name, now.State, strconv.Itoa(now.PID), before[now.Name])
		}
	}
}
