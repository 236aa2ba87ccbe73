package index_test

import (
	"testing"

	"github.com/usher-mcp/usher/event/index"
)

// H7: what the index finds, filled bit by bit while processes write, rotate, end and are killed, is what a filter over
// the whole log finds, in the same order and byte for byte; so is what the journal alone finds.
func TestFindsWhatAFilterFinds(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(t, seed)
		for range 4 {
			for range 1 + w.r.IntN(50) {
				w.step()
			}
			w.flush()
			log := timeline(t, w.dir)
			all := see(t, log)
			l := indexed(t, w.dir)
			for range 20 {
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
}
