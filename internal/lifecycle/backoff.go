package lifecycle

import (
	"math"
	"time"
)

// Backoff is a ladder of waits.
type Backoff struct {
	Immediate bool          // the first step waits for nothing
	Base      time.Duration // the first wait that is one
	Cap       time.Duration // no wait is longer, but for jitter
	Factor    float64       // each wait is so many times the one before; 1: all are the same
	Jitter    float64       // each wait is up to this share longer or shorter; 0.25 is ±25 %
	Steps     int           // after so many the ladder is at its end
}

// Wait is how long step n waits, from 1. Random is from 0 to below 1, and is what jitter is made from.
func (b Backoff) Wait(n int, random float64) time.Duration {
	if b.Immediate {
		if n--; n < 1 {
			return 0
		}
	}
	wait := min(float64(b.Base)*math.Pow(max(b.Factor, 1), float64(n-1)), float64(b.Cap))
	return time.Duration(wait * (1 + b.Jitter*(2*random-1)))
}
