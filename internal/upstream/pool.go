package upstream

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/puddle/v2"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
)

// A member is a connection that a pool keeps.
type member interface {
	Err() error // why it can't be used any more; nil: it can. It must not block.
	Ping(context.Context) error
	Close() error
}

// A pool keeps connections to one server and gives each to one call at a time (D1). The first is opened at first use,
// more as calls wait; callers never wait for a certain connection, but for any, oldest caller first. puddle keeps the
// stock: what is idle, since when, and that there's never more than the most.
//
// Dials belong to the pool, not to the caller that caused them, and go on without it. However many callers wait, there is
// one dial at first; only when it has succeeded there are as many as are needed. If it fails, all who wait at that moment
// get its error. But while connections are left that come back, it is no caller's failure: they wait on for those, and
// the next dial is tried after growPause.
//
// All methods are safe for concurrent use.
type pool[M member] struct {
	c     lifecycle.Pool
	dial  func(context.Context) (M, error)
	stock *puddle.Pool[*pooled[M]]
	ctx   context.Context // the pool's life
	end   context.CancelFunc
	work  sync.WaitGroup // dials, closings, the reaper; added to only while !closed

	mu      sync.Mutex // also held where something is taken out of stock, which then never waits
	closed  bool
	waiting list.List // of *waiter[M]; oldest first
	live    map[*pooled[M]]struct{}
	idle    int // in stock, so that they can be taken; never more than there are
	size    int // dialled, live or being closed
	dialing int
	reached bool          // of the dials that are under way, one has succeeded
	age     atomic.Int64  // counts resets: an older member is good for nothing. Changed only under mu
	quit    chan struct{} // ends the reaper; nil: there is none
	growth  *time.Timer   // fires when it is tried again to grow; nil: it isn't put off
}

// growPause is how long a pool that could not grow, but has members, leaves the server alone.
const growPause = time.Second

// closeTime is how long close waits for members that don't end.
const closeTime = time.Second

// pooled is a member with what the pool knows of it. Whoever took it out of the stock may use it.
type pooled[M member] struct {
	m     M
	age   int64
	asked time.Time // when it answered a ping; zero: never
	once  sync.Once
}

func (p *pooled[M]) close() { p.once.Do(func() { _ = p.m.Close() }) }

// waiter is a caller that waits. Once done is closed, it has a resource or an error.
type waiter[M member] struct {
	done chan struct{}
	r    *puddle.Resource[*pooled[M]]
	err  error
}

// newPool makes a pool, and nothing else: the first get dials. ctx is its life: it ends as by close. dial is called
// without a lock and has to end when its ctx ends.
func newPool[M member](ctx context.Context, c lifecycle.Pool, dial func(context.Context) (M, error)) *pool[M] {
	c.Max = max(c.Max, 1)
	p := &pool[M]{c: c, dial: dial, live: map[*pooled[M]]struct{}{}}
	p.ctx, p.end = context.WithCancel(ctx)
	p.stock, _ = puddle.NewPool(&puddle.Config[*pooled[M]]{ // it fails only for a MaxSize below 1
		MaxSize: int32(c.Max), Constructor: p.open, Destructor: func(*pooled[M]) {},
	})
	context.AfterFunc(p.ctx, p.shut)
	return p
}

// A lease is the use of a member by one call. It isn't safe for concurrent use.
type lease[M member] struct {
	m M
	p *pool[M]
	r *puddle.Resource[*pooled[M]] // nil: it was given back
}

// release gives the member back; a dead one is closed. The second time it does nothing.
func (l *lease[M]) release() { l.giveBack(true) }

// discard gives the member back to be closed, since it isn't any good.
func (l *lease[M]) discard() { l.giveBack(false) }

func (l *lease[M]) giveBack(usable bool) {
	if r := l.r; r != nil {
		l.r = nil
		l.p.put(r, usable && l.m.Err() == nil)
	}
}

// get waits for a member until ctx ends. The error is that of a dial, or a Timeout or Cancelled of ctx.
func (p *pool[M]) get(ctx context.Context) (*lease[M], error) {
	for first := true; ; first = false {
		r, err := p.next(ctx, first)
		if err != nil {
			return nil, err
		}
		s := r.Value()
		if s.age == p.age.Load() && s.m.Err() == nil {
			return &lease[M]{m: s.m, p: p, r: r}, nil
		}
		p.put(r, false)
	}
}

// next takes a member out of the stock, or waits for one. Who waited in vain once doesn't have to queue again.
func (p *pool[M]) next(ctx context.Context, first bool) (*puddle.Resource[*pooled[M]], error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errPoolClosed()
	}
	if r := p.take(); r != nil { // then nobody waits: serve gives them what there is
		p.mu.Unlock()
		return r, nil
	}
	w := &waiter[M]{done: make(chan struct{})}
	place := p.enqueue(w, first)
	p.grow()
	p.mu.Unlock()
	select {
	case <-w.done:
		return w.r, w.err
	case <-ctx.Done():
		return nil, p.leave(ctx, w, place)
	}
}

// enqueue needs p.mu.
func (p *pool[M]) enqueue(w *waiter[M], atEnd bool) *list.Element {
	if atEnd {
		return p.waiting.PushBack(w)
	}
	return p.waiting.PushFront(w)
}

// leave takes a caller out of the queue whose ctx has ended. What it was given at the same moment goes to the next.
func (p *pool[M]) leave(ctx context.Context, w *waiter[M], place *list.Element) error {
	p.mu.Lock()
	select {
	case <-w.done:
		p.mu.Unlock()
		if w.r != nil {
			p.put(w.r, w.r.Value().m.Err() == nil)
		}
	default:
		p.waiting.Remove(place)
		p.mu.Unlock()
	}
	return gaveUp(ctx, "", "the call waited for a connection and was not sent")
}

// put takes a member back.
func (p *pool[M]) put(r *puddle.Resource[*pooled[M]], usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !usable || p.closed || r.Value().age != p.age.Load() {
		p.retire(r)
		return
	}
	r.Release()
	p.idle++
	p.serve()
}

// take needs p.mu. It returns nil if nothing is idle.
func (p *pool[M]) take() *puddle.Resource[*pooled[M]] {
	if p.idle <= 0 {
		return nil
	}
	r, err := p.stock.TryAcquire(p.ctx) // one is idle, so this doesn't dial
	if err != nil {
		return nil
	}
	p.idle--
	return r
}

// takeAll needs p.mu. A member that was dialled this moment may be among them before it's counted; then p.idle is below
// zero for as long.
func (p *pool[M]) takeAll() []*puddle.Resource[*pooled[M]] {
	all := p.stock.AcquireAllIdle()
	p.idle -= len(all)
	return all
}

// serve gives what is idle to who waits. It needs p.mu.
func (p *pool[M]) serve() {
	for p.waiting.Len() > 0 {
		r := p.take()
		if r == nil {
			return
		}
		w := p.waiting.Remove(p.waiting.Front()).(*waiter[M])
		w.r = r
		close(w.done)
	}
}

// fail ends all waiting. It needs p.mu.
func (p *pool[M]) fail(err error) {
	for p.waiting.Len() > 0 {
		w := p.waiting.Remove(p.waiting.Front()).(*waiter[M])
		w.err = err
		close(w.done)
	}
}

// stats tells how many connections are open, how many of them have a call, and how many there may be.
func (p *pool[M]) stats() (size, busy, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live), len(p.live) - max(p.idle, 0), p.c.Max
}

func errPoolClosed() error { return &fault.Error{Kind: fault.Unavailable, Detail: "it was stopped"} }
