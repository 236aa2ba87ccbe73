// Package turns compares two things by measuring them by turns, so that the machine's own speed, and what else it
// does, cancel out. It knows nothing of what is measured.
package turns

import (
	"slices"
	"time"
)

// rounds is how often each pair takes turns.
const rounds = 7

// Latency returns the median of n calls in a row.
func Latency(call func() error, n int) (time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		begun := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[n/2], nil
}

// Interleave runs both seven times by turns, and returns the medians and the median of the ratios a/b.
func Interleave(a, b func() (float64, error)) (medianA, medianB, ratio float64, err error) {
	var as, bs, ratios []float64
	for range rounds {
		x, err := a()
		if err != nil {
			return 0, 0, 0, err
		}
		y, err := b()
		if err != nil {
			return 0, 0, 0, err
		}
		as, bs, ratios = append(as, x), append(bs, y), append(ratios, x/y)
	}
	return median(as), median(bs), median(ratios), nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
