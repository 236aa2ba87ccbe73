package gateway

import (
	"context"
	"sync"
	"time"
)

// deadlines end calls that take too long. All have the same time, so they end in the order in which they began and one
// timer serves them all: one for each call would wake the runtime's poller again and again, which costs more than the
// call's own work here.
type deadlines struct {
	after time.Duration

	mu          sync.Mutex
	first, last *limited // running, in the order of their deadlines
	timer       *time.Timer
	armed       bool
}

// limited is the context of one call. It ends with its parent, with stop, or at its deadline.
type limited struct {
	context.Context
	cancel     context.CancelCauseFunc
	at         time.Time
	prev, next *limited
	over       bool // no longer listed
}

// begin makes a context; end must follow.
func (d *deadlines) begin(parent context.Context) *limited {
	l := &limited{at: time.Now().Add(d.after)}
	l.Context, l.cancel = context.WithCancelCause(parent)
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.prev = d.last; l.prev != nil {
		l.prev.next = l
	} else {
		d.first = l
	}
	d.last = l
	d.arm()
	return l
}

func (d *deadlines) end(l *limited) {
	d.mu.Lock()
	d.drop(l)
	d.mu.Unlock()
	l.cancel(nil)
}

// drop needs d.mu, as arm does.
func (d *deadlines) drop(l *limited) {
	if l.over {
		return
	}
	l.over = true
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		d.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		d.last = l.prev
	}
	l.prev, l.next = nil, nil
}

// arm lets the timer go off when the first call's time is over, or earlier.
func (d *deadlines) arm() {
	if d.armed || d.first == nil {
		return
	}
	d.armed = true
	if wait := time.Until(d.first.at); d.timer == nil {
		d.timer = time.AfterFunc(wait, d.expire)
	} else {
		d.timer.Reset(wait)
	}
}

func (d *deadlines) expire() {
	d.mu.Lock()
	var late []*limited
	for now := time.Now(); d.first != nil && !d.first.at.After(now); {
		late = append(late, d.first)
		d.drop(d.first)
	}
	d.armed = false
	d.arm()
	d.mu.Unlock()
	for _, l := range late {
		l.cancel(context.DeadlineExceeded)
	}
}

// close stops the timer. Calls that run are ended by their parent.
func (d *deadlines) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed = true; d.timer != nil { // nothing arms it again
		d.timer.Stop()
	}
}

// stop ends the call before its time.
func (l *limited) stop() { l.cancel(nil) }

// Deadline is as a context's.
func (l *limited) Deadline() (time.Time, bool) { return l.at, true }

// Err is as a context's.
func (l *limited) Err() error {
	err := l.Context.Err()
	if err != nil && context.Cause(l.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}
