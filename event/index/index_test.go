package index_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/usher-mcp/usher/event/index"
)

// More than 1 is for who changed something here: go test ./event/index -seeds 50.
var seeds = flag.Uint64("seeds", 1, "how many worlds are made, and how thorough the other tests are")

// H7: what the index finds, filled bit by bit while processes write, rotate, end and are killed, is what a filter over
// the whole log finds, in the same order and byte for byte; so is what the journal alone finds.
func TestFindsWhatAFilterFinds(t *testing.T) {
	for seed := range 1 + *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			findsAll(t, seed)
		})
	}
}

func findsAll(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	for range 3 {
		for range 1 + w.r.IntN(50) {
			w.step()
		}
		w.flush()
		log := timeline(t, w.dir)
		all := see(t, log)
		l := indexed(t, w.dir)
		for range 15 {
			q := w.query(log)
			want := choose(all, q)
			got, _ := find(t, l, q)
			same(t, got, want, seed, q)
			if w.r.IntN(4) == 0 {
				got, _ = find(t, index.OpenDirect(w.dir), q)
				same(t, got, want, seed, q)
			}
		}
		l.Close()
	}
}
