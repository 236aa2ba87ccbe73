package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

// D1: whatever happens in whichever order, a member has one call at a time, there are never more than the most, nobody
// waits for ever and nothing is left.
func TestPoolSeeds(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { poolStorm(t, seed) })
		})
	}
}

func poolStorm(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	c := lifecycle.Pool{Min: random.IntN(3), Max: 1 + random.IntN(5), Idle: 2 * time.Second, Ping: 700 * time.Millisecond}
	d := &poolDepot{closes: time.Duration(random.IntN(30)) * time.Millisecond}
	p := newPool(t.Context(), c, d.dial)
	var calls sync.WaitGroup
	for n := range uint64(12) {
		calls.Go(func() { poolCaller(t, p, rand.New(rand.NewPCG(seed, n+1))) })
	}
	stop := make(chan struct{})
	var weather sync.WaitGroup
	weather.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(random.IntN(400)) * time.Millisecond):
			}
			d.set(func() {
				d.err = []error{nil, nil, errPoolDial}[random.IntN(3)]
				d.slow = time.Duration(random.IntN(50)) * time.Millisecond
				d.hangs = random.IntN(4) == 0
				if len(d.all) > 0 {
					d.all[random.IntN(len(d.all))].dead.Store(true)
				}
			})
			if random.IntN(5) == 0 {
				p.reset()
			}
		}
	})
	calls.Wait()
	close(stop)
	weather.Wait()
	d.set(func() { d.err, d.hangs, d.slow = nil, false, 0 })
	all := leases(t, p, c.Max) // no place got lost
	for _, l := range all {
		l.release()
	}
	if d.most > c.Max {
		t.Errorf("%d connections at once, with at most %d", d.most, c.Max)
	}
	time.Sleep(10 * time.Second)
	wantPool(t, p, 0, 0)
	if p.size != 0 || p.idle != 0 || p.dialing != 0 || p.stock.Stat().TotalResources() != 0 {
		t.Errorf("size %d, idle %d, dialing %d, stock %d", p.size, p.idle, p.dialing, p.stock.Stat().TotalResources())
	}
	p.close()
}

func poolCaller(t *testing.T, p *pool[*poolConn], random *rand.Rand) {
	for range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(300))*time.Millisecond)
		l, err := p.get(ctx)
		if err == nil {
			if l.m.used.Add(1) != 1 {
				t.Error("one member has two calls")
			}
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			l.m.used.Add(-1)
			if random.IntN(10) == 0 {
				l.discard()
			}
			l.release()
		} else if !errors.Is(err, errPoolDial) && fault.KindOf(err) != fault.Timeout {
			t.Error(err)
		}
		cancel()
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
	}
}

// The same with the real clock and all cores, for the race detector.
func TestPoolRace(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	d := &poolDepot{}
	p := newPool(t.Context(), lifecycle.Pool{Min: 2, Max: 4, Idle: time.Millisecond, Ping: 200 * time.Microsecond}, d.dial)
	var calls sync.WaitGroup
	for n := range uint64(16) {
		calls.Go(func() {
			random := rand.New(rand.NewPCG(n, 7))
			for range 300 {
				l, err := p.get(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if l.m.used.Add(1) != 1 {
					t.Error("one member has two calls")
				}
				l.m.used.Add(-1)
				switch random.IntN(20) {
				case 0:
					l.m.dead.Store(true)
				case 1:
					p.reset()
				}
				l.release()
			}
		})
	}
	calls.Wait()
	p.close()
	if d.most > 4 || d.open != 0 {
		t.Errorf("%d at once, %d left", d.most, d.open)
	}
}
