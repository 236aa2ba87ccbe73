package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/test/chaos"
)

func seedList() (seeds []uint64, err error) {
	if *file == "" {
		for i := range *n {
			seeds = append(seeds, *first+uint64(i))
		}
		return seeds, nil
	}
	f, err := os.Open(*file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		text, _, _ := strings.Cut(s.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", *file, err)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}

// sum is what all seeds so far showed.
type sum struct {
	mu      sync.Mutex
	begun   time.Time
	seeds   int
	calls   int
	planned int
	ends    map[string]int
	hits    map[string]int
	failed  []uint64
}

// all hands the seeds to the workers.
func all(seeds []uint64, program string) error {
	s := &sum{begun: time.Now(), ends: map[string]int{}, hits: map[string]int{}}
	next := make(chan uint64)
	var wg sync.WaitGroup
	errs := make([]error, max(1, *workers))
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.worker(program, next)
			for seed := range next { // after an error
				s.fail(seed, "it was not run")
			}
		})
	}
	for _, seed := range seeds {
		next <- seed
	}
	close(next)
	wg.Wait()
	fmt.Println("in all:", s)
	if len(s.failed) > 0 {
		slices.Sort(s.failed)
		errs = append(errs, fmt.Errorf("%d seeds failed: %v", len(s.failed), s.failed))
	}
	if hit := total(s.hits); float64(hit) < leastHits*float64(s.planned) {
		errs = append(errs, fmt.Errorf("only %d of %d faults hit a call in flight", hit, s.planned))
	}
	return errors.Join(errs...)
}

// leastHits is the share of faults that have to hit something: else the run shows little.
const leastHits = 0.4

func total(counts map[string]int) (n int) {
	for _, v := range counts {
		n += v
	}
	return n
}

// worker runs seeds until there are none. A process that found something is replaced: what it left behind isn't the next
// seed's.
func (s *sum) worker(program string, seeds <-chan uint64) error {
	for seed := range seeds {
		if more, err := s.process(program, seed, seeds); err != nil || !more {
			return err
		}
	}
	return nil
}

// process runs seeds in one process until one fails; more is false if there are none left.
func (s *sum) process(program string, seed uint64, seeds <-chan uint64) (more bool, err error) {
	cmd := exec.Command("/proc/self/exe", "-server", program, "-root", *root, "worker")
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	reports := json.NewDecoder(out)
	for {
		var r chaos.Report
		sent := json.NewEncoder(in).Encode(seed)
		if got := reports.Decode(&r); sent != nil || got != nil || r.Seed != seed {
			_ = in.Close()
			s.fail(seed, fmt.Sprintf("the process died: %v", cmd.Wait()))
			return true, nil
		}
		s.add(r)
		next, ok := uint64(0), false
		if len(r.Problems) == 0 {
			next, ok = <-seeds
		}
		if !ok {
			_ = in.Close()
			return len(r.Problems) > 0, cmd.Wait()
		}
		seed = next
	}
}

func (s *sum) fail(seed uint64, problems ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, seed)
	fmt.Printf("seed %d failed; make chaos SEED=%d N=1 does the same again\n", seed, seed)
	for i, p := range problems {
		if i == 20 {
			fmt.Printf("  … and %d more\n", len(problems)-i)
			break
		}
		fmt.Println("  " + strings.ReplaceAll(p[:min(len(p), longest)], "\n", "\n    "))
	}
}

// longest is how much of a problem is shown: stacks have no end.
const longest = 8 << 10

func (s *sum) add(r chaos.Report) {
	if len(r.Problems) > 0 {
		s.fail(r.Seed, append(r.Problems, "its journals are in "+r.Dir)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	s.calls += r.Calls
	s.planned += r.Planned
	for k, v := range r.Ends {
		s.ends[k] += v
	}
	for k, v := range r.Hits {
		s.hits[k] += v
	}
	if s.seeds%50 == 0 {
		fmt.Println(s)
	}
}

func (s *sum) String() string {
	return fmt.Sprintf("%d seeds in %v, %d calls, %d of %d faults hit a call in flight (%s); the calls: %s",
		s.seeds, time.Since(s.begun).Round(time.Second), s.calls, total(s.hits), s.planned, table(s.hits), table(s.ends))
}

func table(counts map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return strings.Join(all, ", ")
}
