package lifecycle

import (
	"testing"
	"time"
)

func waits(b Backoff, random float64) (all []time.Duration) {
	for n := 1; n <= b.Steps; n++ {
		all = append(all, b.Wait(n, random))
	}
	return all
}

func seconds(all ...float64) (out []time.Duration) {
	for _, s := range all {
		out = append(out, time.Duration(s*float64(time.Second)))
	}
	return out
}

// C2, C5, D3, A6: the ladders that the defaults and presets make.
func TestLadders(t *testing.T) {
	long := Default().Restart.Backoff
	long.Steps = 7
	for _, test := range []struct {
		name   string
		b      Backoff
		random float64
		want   []time.Duration
	}{
		{"restart", Default().Restart.Backoff, 0.5, seconds(0.5, 1, 2)},
		{"restart, shortest", Default().Restart.Backoff, 0, seconds(0.375, 0.75, 1.5)},
		{"restart, capped", long, 0.5, seconds(0.5, 1, 2, 4, 8, 10, 10)},
		{"reconnect", Default().Reconnect.Backoff, 0.9, seconds(0, 1, 2, 4, 8)},
		{"retry", Default().Retry, 0.5, seconds(0, 1, 2, 4, 8)},
		{"minimal", Minimal().Retry, 0.3, seconds(1, 1, 1)},
	} {
		got := waits(test.b, test.random)
		if len(got) != len(test.want) {
			t.Errorf("%s: %v", test.name, got)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
				break
			}
		}
	}
}

// D3: jitter is ±25 %, whatever chance says; a ladder that overflows stays at its cap.
func TestJitterBounds(t *testing.T) {
	b := Default().Retry
	for _, random := range []float64{0, 0.1, 0.5, 0.999999} {
		for n := 2; n < 2000; n++ {
			if w := b.Wait(n, random); w < 750*time.Millisecond || w > b.Cap*5/4 {
				t.Fatalf("step %d at %v waits %v", n, random, w)
			}
		}
	}
}
