package upstream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

// D1, case-031: nothing before the first use, then two, more as calls come at once, never more than ten.
func TestPoolGrows(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		wantDials(t, d, 0, 0)
		first := leases(t, p, 1)
		wantDials(t, d, 2, 2)
		wantPool(t, p, 2, 1)
		more := leases(t, p, 3)
		wantDials(t, d, 4, 4)
		first[0].release()
		first[0].release()
		wantPool(t, p, 4, 3)
		again := leases(t, p, 1)
		wantDials(t, d, 4, 4)
		rest := leases(t, p, 6)
		wantPool(t, p, 10, 10)

		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		_, err := p.get(ctx)
		if wantKind(t, err, fault.Timeout); time.Since(began) != 7*time.Second {
			t.Errorf("it waited %v", time.Since(began))
		}
		cancelled, cancelIt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancelIt)
		_, err = p.get(cancelled)
		wantKind(t, err, fault.Cancelled)
		time.AfterFunc(time.Second, rest[0].release)
		again = append(again, leases(t, p, 1)...)
		wantDials(t, d, 10, 10)
		for _, l := range slices.Concat(more, again, rest) {
			l.release()
		}
		wantPool(t, p, 10, 0)
	})
}

// D1: whoever waits longest is served first.
func TestPoolOrder(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Pool{Max: 1}, func(t *testing.T, p *pool[*poolConn]) {
		held := leases(t, p, 1)
		var order []int
		var calls sync.WaitGroup
		for n := range 20 {
			calls.Go(func() {
				l := leases(t, p, 1)[0]
				order = append(order, n)
				l.release()
			})
			synctest.Wait()
		}
		held[0].release()
		calls.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("served %v", order)
		}
	})
}

// D1: one dial however many calls fail at once, again and again.
func TestPoolServerDown(t *testing.T) {
	d := &poolDepot{err: errPoolDial, slow: time.Second}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		for round := range 3 {
			began := time.Now()
			var calls sync.WaitGroup
			for range 200 {
				calls.Go(func() {
					if _, err := p.get(t.Context()); err != errPoolDial || time.Since(began) != time.Second {
						t.Errorf("%v after %v", err, time.Since(began))
					}
				})
			}
			calls.Wait()
			wantDials(t, d, round+1, 0)
		}
		d.set(func() { d.err = nil })
		for _, l := range leases(t, p, 10) {
			l.release()
		}
		wantDials(t, d, 13, 10)

		d.set(func() { d.err = errPoolDial }) // it is lost, and found out by the connections
		for _, c := range d.all {
			c.dead.Store(true)
		}
		var calls sync.WaitGroup
		for range 200 {
			calls.Go(func() {
				if _, err := p.get(t.Context()); err != errPoolDial {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		wantDials(t, d, 14, 0)
	})
}

// A caller that gives up leaves its dial to the others.
func TestPoolDialOutlivesCaller(t *testing.T) {
	d := &poolDepot{slow: 3 * time.Second}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.get(ctx)
		wantKind(t, err, fault.Timeout)
		began := time.Now()
		leases(t, p, 1)[0].release()
		if time.Since(began) != 2*time.Second {
			t.Errorf("it took %v", time.Since(began))
		}
		time.Sleep(3 * time.Second)
		wantDials(t, d, 2, 2)
	})
}

// A server that takes only two connections still serves all calls with these.
func TestPoolCantGrow(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		held := leases(t, p, 2)
		d.set(func() { d.err = errPoolDial })
		var served atomic.Int64
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				l := leases(t, p, 1)[0]
				served.Add(1)
				l.release()
			})
		}
		time.Sleep(3500 * time.Millisecond)
		wantDials(t, d, 2+1+3, 2) // at once and after each pause, for all of them together
		d.set(func() { d.err = nil })
		time.Sleep(time.Second)
		if calls.Wait(); served.Load() != 50 {
			t.Errorf("%d calls were served", served.Load())
		}
		for _, l := range held {
			l.release()
		}
	})
}

// When all that could come back is lost, callers that wait don't wait for the pause.
func TestPoolLosesLast(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		held := leases(t, p, 2)
		d.set(func() { d.err = errPoolDial })
		began := time.Now()
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				if _, err := p.get(t.Context()); err != errPoolDial || time.Since(began) != 100*time.Millisecond {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		for _, l := range held {
			l.m.dead.Store(true)
			l.release()
		}
		calls.Wait()
		wantDials(t, d, 4, 0)
	})
}

func BenchmarkPool(b *testing.B) {
	ctx := context.Background()
	bench := func(b *testing.B) *pool[*poolConn] {
		d := &poolDepot{}
		p := newPool(ctx, lifecycle.Default().Pool, d.dial)
		b.Cleanup(p.close)
		l, err := p.get(ctx)
		if err != nil {
			b.Fatal(err)
		}
		l.release()
		b.ReportAllocs()
		return p
	}
	b.Run("alone", func(b *testing.B) {
		p := bench(b)
		for b.Loop() {
			l, _ := p.get(ctx)
			l.release()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		p := bench(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l, _ := p.get(ctx)
				l.release()
			}
		})
	})
}
