package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/internal/lifecycle"
)

// poolDepot is the server of a pool and all connections to it.
type poolDepot struct {
	mu     sync.Mutex
	all    []*poolConn
	open   int
	most   int // that were open at once
	dials  int
	err    error         // what dials end with
	slow   time.Duration // how long one takes
	hangs  bool          // pings aren't answered
	late   time.Duration // how long a ping takes
	closes time.Duration // how long a Close takes
	closed []time.Time
}

// poolConn is a real member but for the network.
type poolConn struct {
	d     *poolDepot
	pings atomic.Int64
	dead  atomic.Bool
	used  atomic.Int64
	over  chan struct{}
}

var (
	_           member = (*poolConn)(nil)
	errPoolDead        = errors.New("the connection ended")
	errPoolDial        = errors.New("connection refused")
)

func (d *poolDepot) dial(ctx context.Context) (*poolConn, error) {
	d.mu.Lock()
	d.dials++
	slow := d.slow
	d.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil, d.err
	}
	d.open++
	d.most = max(d.most, d.open)
	c := &poolConn{d: d, over: make(chan struct{})}
	d.all = append(d.all, c)
	return c, nil
}

func (d *poolDepot) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *poolDepot) counts() (dials, open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dials, d.open
}

func (c *poolConn) Err() error {
	if c.dead.Load() {
		return errPoolDead
	}
	return nil
}

func (c *poolConn) Ping(ctx context.Context) error {
	c.pings.Add(1)
	c.d.mu.Lock()
	hangs, late := c.d.hangs, c.d.late
	c.d.mu.Unlock()
	time.Sleep(late)
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Err()
}

func (c *poolConn) Close() error {
	if d := c.d.closes; d > 0 {
		time.Sleep(d)
	}
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.open--
	c.d.closed = append(c.d.closed, time.Now())
	c.dead.Store(true)
	close(c.over) // a second Close panics
	return nil
}

func wantPool(t *testing.T, p *pool[*poolConn], size, busy int) {
	t.Helper()
	synctest.Wait()
	if s, b, most := p.stats(); s != size || b != busy || most != p.c.Max {
		t.Errorf("size %d busy %d most %d, want %d busy %d", s, b, most, size, busy)
	}
}

func wantDials(t *testing.T, d *poolDepot, dials, open int) {
	t.Helper()
	synctest.Wait()
	if n, o := d.counts(); n != dials || o != open {
		t.Errorf("%d dials, %d open; want %d, %d", n, o, dials, open)
	}
}

// leases takes n members, which must be to be had.
func leases(t *testing.T, p *pool[*poolConn], n int) []*lease[*poolConn] {
	t.Helper()
	var mu sync.Mutex
	var all []*lease[*poolConn]
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			l, err := p.get(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, l)
		})
	}
	calls.Wait()
	return all
}

func inPool(t *testing.T, d *poolDepot, c lifecycle.Pool, test func(t *testing.T, p *pool[*poolConn])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t.Context(), c, d.dial)
		test(t, p)
		p.close()
		if _, open := d.counts(); open != 0 {
			t.Errorf("%d connections are left", open)
		}
	})
}
