//go:build !race

package flow_test

import (
	"testing"
	"time"
)

// The race detector makes everything slower, so this holds without it; the best of five runs, as the machine may be busy.
func TestCleanCheckIsFast(t *testing.T) {
	best := time.Hour
	for range 5 {
		r := testing.Benchmark(BenchmarkCleanCheck)
		best = min(best, time.Duration(r.NsPerOp()))
		if best < 50 {
			return
		}
	}
	t.Errorf("a clean check takes %v", best)
}
