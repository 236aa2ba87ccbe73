package upstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/puddle/v2"
)

// memberPingTime is how long an unused member may take to say that it lives.
const memberPingTime = 5 * time.Second

// grow starts the dials that are due: for callers that wait, and up to the least number of members. It needs p.mu.
func (p *pool[M]) grow() {
	if p.closed || p.growth != nil {
		return
	}
	due := max(p.waiting.Len(), p.c.Min-len(p.live))
	if !p.reached {
		due = min(due, 1)
	}
	for ; p.dialing < due && p.size < p.c.Max; p.dialing++ {
		p.size++
		p.work.Go(p.add)
	}
}

// add opens one member.
func (p *pool[M]) add() {
	err := p.stock.CreateResource(p.ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	if err != nil {
		p.size--
		p.reached = false
		p.notAdded(err)
		return
	}
	p.idle++
	p.serve()
	p.grow()
	if p.dialing == 0 {
		p.reached = false
	}
}

// notAdded needs p.mu.
func (p *pool[M]) notAdded(err error) {
	switch {
	case p.closed || p.dialing > 0: // another one will tell
	case len(p.live) == 0:
		p.fail(err)
	case p.growth == nil:
		p.growth = time.AfterFunc(growPause, p.growAgain)
	}
}

// growAgain is the end of a pause.
func (p *pool[M]) growAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.growth = nil
	p.growForWaiting()
}

// growForWaiting is grow where nobody who needs a member has come: it keeps up no least number. It needs p.mu.
func (p *pool[M]) growForWaiting() {
	if p.waiting.Len() > 0 {
		p.grow()
	}
}

// endPause needs p.mu.
func (p *pool[M]) endPause() {
	if p.growth != nil {
		p.growth.Stop()
		p.growth = nil
	}
}

// open is puddle's constructor.
func (p *pool[M]) open(ctx context.Context) (*pooled[M], error) {
	age := p.age.Load()
	m, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := &pooled[M]{m: m, age: age}
	if !p.admit(s) {
		s.close()
		return nil, errPoolClosed()
	}
	return s, nil
}

// admit makes s one of the members, unless the pool was closed meanwhile.
func (p *pool[M]) admit(s *pooled[M]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.live[s] = struct{}{}
	p.reached = p.reached || s.age == p.age.Load()
	if p.quit == nil {
		quit := make(chan struct{})
		p.quit = quit
		p.work.Go(func() { p.reap(quit) })
	}
	return true
}

// retire takes a member out of use and closes it in the background; its place is free when that's done. It needs p.mu.
// Hijack instead of puddle's Destroy, which can't be waited for.
func (p *pool[M]) retire(r *puddle.Resource[*pooled[M]]) {
	s := r.Value()
	r.Hijack()
	if p.closed { // shut closes all
		return
	}
	delete(p.live, s)
	if len(p.live) == 0 {
		close(p.quit)
		p.quit = nil
		p.endPause()
	}
	p.growForWaiting()
	p.work.Go(func() {
		s.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.size--
		p.growForWaiting()
	})
}

// reset says that the server was lost: idle members are closed now, busy ones when they come back. The next dial is for
// all who wait again.
func (p *pool[M]) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.age.Add(1)
	p.reached = false
	for _, r := range p.takeAll() {
		p.retire(r)
	}
}

// close ends the pool and all members, also those that are in use, so that their calls fail. It waits for them and for
// all that the pool started, but at most closeTime.
func (p *pool[M]) close() {
	p.end()
	p.shut()
	over := make(chan struct{})
	go func() {
		p.work.Wait()
		close(over)
	}()
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
}

// shut is close without the wait.
func (p *pool[M]) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for s := range p.live {
		p.work.Go(s.close)
	}
	clear(p.live)
	p.closed, p.idle = true, 0
	p.endPause()
	p.fail(errPoolClosed())
}

// reap closes members that nobody needs or that don't answer, until there's none left.
func (p *pool[M]) reap(quit chan struct{}) {
	timer := time.NewTimer(p.soonest())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(p.inspect())
		case <-quit:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// soonest is when a member that is used now may need something.
func (p *pool[M]) soonest() time.Duration {
	switch {
	case p.c.Ping <= 0 && p.c.Idle <= 0:
		return time.Hour // a dead one may be among them
	case p.c.Ping <= 0:
		return p.c.Idle
	case p.c.Idle <= 0:
		return p.c.Ping
	}
	return min(p.c.Ping, p.c.Idle)
}

// inspect looks at all idle members and returns when to look again.
func (p *pool[M]) inspect() time.Duration {
	p.mu.Lock()
	all := p.takeAll()
	p.mu.Unlock()
	next := p.soonest()
	var good, bad, due []*puddle.Resource[*pooled[M]]
	for _, r := range all {
		idle := p.c.Idle - r.IdleDuration()
		ping := p.c.Ping - min(r.IdleDuration(), time.Since(r.Value().asked))
		switch {
		case p.c.Idle > 0 && idle <= 0 || r.Value().m.Err() != nil:
			bad = append(bad, r)
		case p.c.Ping > 0 && ping <= 0:
			due = append(due, r)
		default:
			good = append(good, r)
			if p.c.Ping > 0 {
				next = min(next, ping)
			}
		}
		if p.c.Idle > 0 && idle > 0 {
			next = min(next, idle)
		}
	}
	p.restock(good, bad)
	if len(due) > 0 {
		asked := time.Now()
		p.restock(p.ping(due))
		next = max(next-time.Since(asked), 0)
	}
	return next
}

// ping asks all at once whether they live.
func (p *pool[M]) ping(due []*puddle.Resource[*pooled[M]]) (good, bad []*puddle.Resource[*pooled[M]]) {
	ctx, cancel := context.WithTimeout(p.ctx, memberPingTime)
	defer cancel()
	errs := make([]error, len(due))
	var all sync.WaitGroup
	for i, r := range due {
		all.Go(func() { errs[i] = errors.Join(r.Value().m.Ping(ctx), r.Value().m.Err()) })
	}
	all.Wait()
	for i, r := range due {
		if errs[i] != nil {
			bad = append(bad, r)
			continue
		}
		r.Value().asked = time.Now()
		good = append(good, r)
	}
	return good, bad
}

// restock puts back what was looked at, as if it had never been away: the stock is a stack, and what is used least has to
// be at its bottom, or calls would take turns with all members and none would ever be idle for long.
func (p *pool[M]) restock(good, bad []*puddle.Resource[*pooled[M]]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	good = append(good, p.takeAll()...)
	slices.SortFunc(good, func(a, b *puddle.Resource[*pooled[M]]) int { return cmp.Compare(b.IdleDuration(), a.IdleDuration()) })
	for _, r := range good {
		if p.closed || r.Value().age != p.age.Load() {
			bad = append(bad, r)
			continue
		}
		r.ReleaseUnused()
		p.idle++
	}
	for _, r := range bad {
		p.retire(r)
	}
	p.serve()
}
