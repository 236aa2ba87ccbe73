package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

// C2, C4, C5, A5: whatever happens to a server, in whatever order: each call ends once; when the trouble is over it is up,
// with one connection for each who may have one, and nothing but Close is needed to be rid of it.
func TestSupervisorSeeds(t *testing.T) {
	for seed := range uint64(200) {
		for _, kind := range []string{"stdio", "ws", "grpc"} {
			synctest.Test(t, func(t *testing.T) { storm(t, kind, seed) })
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func storm(t *testing.T, kind string, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 1))
	var woke atomic.Uint64
	f := &far{handler: slow}
	o := options(kind, f)
	o.Woke, o.Slots = woke.Load, make(chan struct{}, 1)
	o.Lifecycle.Isolation = []lifecycle.Isolation{lifecycle.Auto, lifecycle.PerSession, lifecycle.PerCall}[seed%3]
	s := New(t.Context(), o)
	defer s.Close("closed")
	s.Start()
	owners := make([]Owner, 3)
	var calls, ended atomic.Int64
	var work sync.WaitGroup
	for range 60 {
		switch chance.IntN(12) {
		case 0, 1, 2, 3:
			owner, tool := &owners[chance.IntN(3)], []string{"echo", "echo", "hang"}[chance.IntN(3)]
			limit := time.Duration(chance.IntN(20000)) * time.Millisecond
			calls.Add(1)
			work.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				_ = askFor(ctx, s, owner, tool)
				ended.Add(1)
			})
		case 4, 5:
			f.kill()
		case 6:
			f.refuse(errExit)
		case 7:
			f.refuse(nil)
		case 8:
			work.Go(func() { _ = s.Restart(t.Context()) })
		case 9:
			woke.Add(1)
			s.Nudge()
		case 10:
			s.Release(&owners[chance.IntN(3)])
		case 11:
			if l := s.main.current(); l != nil {
				again := chance.IntN(2) == 0
				work.Go(func() { s.main.drop(l, "a test", again) })
			}
		}
		if chance.IntN(3) > 0 {
			time.Sleep(time.Duration(chance.IntN(3000)) * time.Millisecond)
		}
	}
	f.refuse(nil)
	time.Sleep(5 * time.Minute)
	if calls.Load() != ended.Load() {
		t.Errorf("%s: %d calls, %d ended", kind, calls.Load(), ended.Load())
	}
	work.Wait()
	if s.State() == Failed {
		if err := s.Restart(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	err := askFor(t.Context(), s, nil, "echo")
	synctest.Wait()
	if err != nil || s.State() != Up {
		t.Errorf("%s: when all is over: %v, %s", kind, err, s.State())
	}
	st := s.Status()
	if most := 1 + st.PoolSize + st.Owned; f.open() > most || (f.open() == 0) != (seed%3 == 2) {
		t.Errorf("%s: %d connections, %d of sessions, %d of the pool", kind, f.open(), st.Owned, st.PoolSize)
	}
	s.Close("closed")
	dials := f.count()
	if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable || f.open() != 0 {
		t.Errorf("%s: closed: %v, %d connections", kind, err, f.open())
	}
	time.Sleep(time.Hour)
	if f.count() != dials {
		t.Errorf("%s: dialled after Close", kind)
	}
}
