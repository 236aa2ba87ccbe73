package wake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slept is how far the wall clock must run ahead of the monotonic one: no clock that is merely put right does.
	slept = 30 * time.Second
	// tick is how often the clocks are compared if nobody asks.
	tick = 5 * time.Second
	// settle is how long after the first word of it a change of the network is looked at: it comes in many steps.
	settle = time.Second
)

// Options adjust a Watch. The zero value works.
type Options struct {
	// OnWake is told of each moment that is counted, in a goroutine of the Watch, never twice at once; of several that
	// come together it is told once. It may be later than the count by 5 s at most. Nil: nobody is told.
	OnWake func(count uint64)
	// Wall is the wall clock; nil: time.Now. It is called from many goroutines at once.
	Wall func() time.Time

	network  func() (network, error) // nil: openNetwork
	snapshot func() string           // nil: addresses
}

// network says when anything of the machine's network may have changed.
type network interface {
	// Wait blocks until then, or until Close, upon which it fails.
	Wait() error
	Close() error
}

// A Watch counts. Its methods may be called by many goroutines at once, and as often as one likes.
type Watch struct {
	o      Options
	start  time.Time
	ahead  atomic.Int64 // of the monotonic clock the wall clock was so many ns when they were last compared
	count  atomic.Uint64
	kick   chan struct{} // the count has grown
	news   chan struct{} // the network may have changed
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// New starts to watch, until ctx ends or Close is called. If the system doesn't tell of the network, only sleep is noticed.
func New(ctx context.Context, o Options) *Watch {
	if o.network == nil {
		o.network = openNetwork
	}
	if o.snapshot == nil {
		o.snapshot = func() string { return addresses(false) }
	}
	w := &Watch{o: o, start: time.Now(), kick: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	w.ahead.Store(w.compare())
	ctx, w.cancel = context.WithCancel(ctx)
	before := "" // nobody looks at it
	if n, err := o.network(); err == nil {
		before = o.snapshot() // behind the opening, so that no change is missed
		w.work.Go(func() { w.listen(ctx, n) })
	}
	w.work.Go(func() { w.run(ctx, before) })
	return w
}

// Count returns how often the machine has woken or its network changed since New. A sleep is noticed at once, by whoever
// asks first; everyone who asks sees the same count.
func (w *Watch) Count() uint64 {
	w.look()
	return w.count.Load()
}

// Close ends the watch and waits until all that it started has ended. OnWake must not call it.
func (w *Watch) Close() {
	w.cancel()
	w.work.Wait()
}

// compare returns how far the wall clock is ahead.
func (w *Watch) compare() int64 {
	if w.o.Wall == nil {
		now := time.Now()
		return now.UnixNano() - int64(now.Sub(w.start))
	}
	return w.o.Wall().UnixNano() - int64(time.Since(w.start))
}

// look counts a jump of the wall clock, once. It returns the comparison to go on with.
func (w *Watch) look() (old, ahead int64) {
	old, ahead = w.ahead.Load(), w.compare()
	if ahead-old > int64(slept) && w.ahead.CompareAndSwap(old, ahead) {
		w.grow()
	}
	return old, ahead
}

func (w *Watch) grow() {
	w.count.Add(1)
	poke(w.kick)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run compares the clocks and looks at the network from time to time, and passes on what is counted.
func (w *Watch) run(ctx context.Context, before string) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var settled <-chan time.Time
	for told := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// Where there was no jump, a clock that is slowly put right must not add up to one.
			w.ahead.CompareAndSwap(w.look())
		case <-w.news:
			if settled == nil {
				settled = time.After(settle)
			}
			continue
		case <-settled:
			settled = nil
			if now := w.o.snapshot(); now != before {
				before = now
				w.grow()
			}
		case <-w.kick:
		}
		if n := w.count.Load(); n != told && w.o.OnWake != nil {
			told = n
			w.o.OnWake(n)
		}
	}
}

// listen passes on what the network says.
func (w *Watch) listen(ctx context.Context, n network) {
	stop := context.AfterFunc(ctx, func() { _ = n.Close() })
	for n.Wait() == nil {
		poke(w.news)
	}
	if stop() {
		_ = n.Close()
	}
}
