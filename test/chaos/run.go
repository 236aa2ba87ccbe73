package chaos

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// Report is what one run showed.
type Report struct {
	Seed     uint64
	Problems []string
	Dir      string // what the run left, to be looked at if there are problems
	Calls    int
	Ends     map[string]int // "completed" or the reason → how many calls
	Planned  int            // faults
	Hits     map[string]int // order → how many faults hit a call in flight
	Took     time.Duration
}

// hangs is how long a run may take to its last answer.
const hangs = 60 * time.Second

// Run carries out a plan and checks what came of it. Script is the path of verify.py. The error is one of the
// surroundings, and no finding.
func Run(ctx context.Context, o Options, plan Plan, script string) (Report, error) {
	begun := time.Now()
	r := Report{Seed: plan.Seed, Dir: o.Dir, Planned: len(plan.Faults), Ends: map[string]int{}, Hits: map[string]int{}}
	stock := takeStock()
	w, err := open(ctx, o, plan)
	if err != nil {
		return r, err
	}
	outs, hits, problems := w.play(ctx)
	r.Problems = append(problems, w.close()...)
	e, err := w.evidence(outs)
	if err != nil {
		r.Problems = append(r.Problems, "the journals: "+err.Error())
	}
	r.Problems = append(r.Problems, Check(e)...)
	r.Problems = append(r.Problems, stock.left(o.Dir)...)
	r.Problems = append(r.Problems, verify(o.log(), script)...)
	r.count(outs, hits)
	r.Took = time.Since(begun)
	return r, nil
}

// play lets calls and faults run against one another.
func (w *world) play(ctx context.Context) (outs []Outcome, hits []hit, problems []string) {
	ready, cancel := context.WithTimeout(ctx, 10*time.Second)
	w.host.Ready(ready)
	cancel()
	c := w.startCallers()
	w.breakAll(ctx)
	if w.plan.Early {
		close(c.closing)
		problems = w.closeHost()
	}
	close(c.stop)
	if !c.end(hangs) {
		b := make([]byte, 1<<20)
		return nil, nil, append(problems, fmt.Sprintf("calls hang:\n%s", b[:runtime.Stack(b, true)]))
	}
	if !w.plan.Early {
		problems = append(problems, w.heal(c)...)
	}
	for h := range w.hits {
		hits = append(hits, h)
	}
	return c.outs, hits, slices.Concat(problems, c.problems, w.problems)
}

func (w *world) closeHost() []string {
	if err := w.host.Close(); err != nil {
		return []string{"Host.Close: " + err.Error()}
	}
	return nil
}

// count tells the faults that hit a call: it was with the server before, and over only afterwards.
func (r *Report) count(outs []Outcome, hits []hit) {
	ended := map[string]time.Time{}
	for _, o := range outs {
		ended[o.ID] = o.Ended
		end := string(o.Kind)
		if end == "" {
			end = "completed"
		}
		r.Ends[end]++
	}
	r.Calls = len(outs)
	for _, h := range hits {
		if slices.ContainsFunc(h.ids, func(id string) bool { return ended[id].After(h.at) }) {
			r.Hits[h.Order]++
		}
	}
}

// Folder makes the folder of one run.
func Folder() (string, error) { return os.MkdirTemp("", "usher-chaos-") }
