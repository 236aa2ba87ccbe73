package upstream

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

// D1, case-037: pinged each 60 s, closed after 300 s without use, whatever the least number is; then the reaper is gone too.
func TestPoolIdle(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		for round := range 2 {
			began := time.Now()
			leases(t, p, 1)[0].release()
			wantPool(t, p, 2, 0)
			for n := range int64(4) {
				time.Sleep(time.Minute)
				synctest.Wait()
				for _, c := range d.all[2*round:] {
					if c.pings.Load() != n+1 {
						t.Errorf("after %v: %d pings", time.Since(began), c.pings.Load())
					}
				}
			}
			time.Sleep(time.Minute - 1)
			wantPool(t, p, 2, 0)
			time.Sleep(time.Nanosecond)
			wantPool(t, p, 0, 0)
			for _, at := range d.closed[2*round:] {
				if at.Sub(began) != 5*time.Minute {
					t.Errorf("closed after %v", at.Sub(began))
				}
			}
			if p.quit != nil {
				t.Error("the reaper is still there")
			}
			time.Sleep(time.Hour)
			wantDials(t, d, 2*round+2, 0)
		}
	})
}

// D1: a burst passes. What few calls there are later use the same connection, and pings don't keep the others.
func TestPoolShrinks(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		for _, l := range leases(t, p, 10) {
			l.release()
		}
		began := time.Now()
		for time.Since(began) < 6*time.Minute {
			time.Sleep(7 * time.Second)
			leases(t, p, 1)[0].release()
		}
		wantPool(t, p, 1, 0)
		wantDials(t, d, 10, 1)
	})
}

// A busy member is neither pinged nor closed, however long its call takes.
func TestPoolBusyIsLeftAlone(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		l := leases(t, p, 1)[0]
		time.Sleep(10 * time.Minute)
		wantPool(t, p, 1, 1)
		if l.m.pings.Load() != 0 || l.m.Err() != nil {
			t.Errorf("%d pings, %v", l.m.pings.Load(), l.m.Err())
		}
		l.release()
		time.Sleep(5 * time.Minute)
		wantPool(t, p, 0, 0)
	})
}

// D1: a member that doesn't answer its ping is closed, and so is one that is dead; neither is given out.
func TestPoolDead(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		leases(t, p, 1)[0].release()
		d.set(func() { d.hangs = true })
		time.Sleep(time.Minute + memberPingTime)
		wantPool(t, p, 0, 0)
		d.set(func() { d.hangs = false })

		a := leases(t, p, 1)[0]
		wantDials(t, d, 4, 2)
		a.m.dead.Store(true)
		a.release()
		wantPool(t, p, 1, 0)
		gone := slices.Clone(d.all) // one of the last two is closed already, the other idle
		for _, c := range gone {
			c.dead.Store(true)
		}
		b := leases(t, p, 1)[0]
		if b.m.Err() != nil || slices.Contains(gone, b.m) {
			t.Error("a dead member was given out")
		}
		b.discard()
		synctest.Wait()
		if b.m.Err() == nil {
			t.Error("a member that was no good is kept")
		}
	})
}

// After a reset nothing from before is given out: what is idle is closed, what is busy when it comes back, and what is
// just being dialled when it's there.
func TestPoolReset(t *testing.T) {
	d := &poolDepot{}
	inPool(t, d, lifecycle.Default().Pool, func(t *testing.T, p *pool[*poolConn]) {
		busy := leases(t, p, 1)
		wantPool(t, p, 2, 1)
		p.reset()
		wantDials(t, d, 2, 1)
		if busy[0].m.Err() != nil {
			t.Error("a call lost its connection")
		}
		busy[0].release()
		wantDials(t, d, 2, 0)

		d.set(func() { d.slow = time.Second })
		time.AfterFunc(500*time.Millisecond, p.reset)
		began := time.Now()
		l := leases(t, p, 1)[0]
		if time.Since(began) != 2*time.Second || l.m == d.all[2] {
			t.Errorf("after %v it has a connection from before the reset", time.Since(began))
		}
		l.release()

		d.set(func() { d.late = 2 * time.Second })
		time.Sleep(time.Minute + time.Second) // it is being pinged
		p.reset()
		time.Sleep(time.Second)
		wantPool(t, p, 0, 0)
	})
}

// close ends everything at once, and within its time also where a member or a dial hangs.
func TestPoolClose(t *testing.T) {
	for _, test := range []struct {
		name   string
		d      *poolDepot
		before func(p *pool[*poolConn])
		want   time.Duration
	}{
		{"unused", &poolDepot{}, func(*pool[*poolConn]) {}, 0},
		{"a dial hangs", &poolDepot{slow: time.Hour}, func(p *pool[*poolConn]) {
			go p.get(context.Background())
		}, 0},
		{"a call holds its member", &poolDepot{}, func(p *pool[*poolConn]) {
			l, _ := p.get(context.Background())
			go func() { <-l.m.over; l.release() }()
		}, 0},
		{"members end slowly", &poolDepot{closes: 300 * time.Millisecond}, func(p *pool[*poolConn]) {
			l, _ := p.get(context.Background())
			l.release()
		}, 300 * time.Millisecond},
		{"a member hangs", &poolDepot{closes: time.Minute}, func(p *pool[*poolConn]) {
			l, _ := p.get(context.Background())
			l.release()
		}, closeTime},
		{"a ping hangs", &poolDepot{hangs: true}, func(p *pool[*poolConn]) {
			l, _ := p.get(context.Background())
			l.release()
			time.Sleep(time.Minute + time.Second)
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t.Context(), lifecycle.Default().Pool, test.d.dial)
				test.before(p)
				synctest.Wait()
				began := time.Now()
				p.close()
				if time.Since(began) != test.want {
					t.Errorf("it took %v", time.Since(began))
				}
				_, err := p.get(t.Context())
				wantKind(t, err, fault.Unavailable)
				p.close()
				p.reset()
				time.Sleep(2 * time.Minute)
				if _, open := test.d.counts(); open != 0 {
					t.Errorf("%d connections are left", open)
				}
			})
		})
	}
}

// The end of its context ends a pool.
func TestPoolContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &poolDepot{}
		ctx, cancel := context.WithCancel(t.Context())
		p := newPool(ctx, lifecycle.Pool{Max: 1}, d.dial)
		l := leases(t, p, 1)[0]
		errs := make(chan error)
		go func() {
			_, err := p.get(context.Background())
			errs <- err
		}()
		synctest.Wait()
		cancel()
		wantKind(t, <-errs, fault.Unavailable)
		wantDials(t, d, 1, 0)
		l.release()
	})
}
