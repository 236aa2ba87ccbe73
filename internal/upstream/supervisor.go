package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
)

// supervision is what a supervisor is made from.
type supervision struct {
	server string
	plan   plan
	dial   func(ctx context.Context) (*link, error) // its errors are *fault.Error
	// reserve is called right before a dial that Start begins, in the order of the Starts; it must not wait. Nil: nothing is.
	reserve func()
	// hurt is how many network errors of calls in a row end a connection; 0: none do.
	hurt   int
	record func(...event.Data)
	moved  func() // told after each new state, without a lock held; it must look for itself which
	// brief closes each connection as soon as it has been dialled: calls have connections of their own.
	brief bool
}

// supervisor keeps one connection alive. See the package comment for its states. All methods are safe for concurrent use.
type supervisor struct {
	o    supervision
	ctx  context.Context
	work sync.WaitGroup

	mu       sync.Mutex
	state    State
	link     *link // while up
	err      error // of the last failure
	failures int   // in a row
	restarts int   // dials after the first that led to a connection
	up       bool  // it has been up
	since    time.Time
	next     time.Time          // of the next dial, while it is waited for
	changed  chan struct{}      // closed at each new state, and replaced
	kick     chan struct{}      // room for one: don't wait any longer
	run      context.CancelFunc // ends the attempts under way; nil: there were none
	runs     int                // tells one row of attempts from those that were called off
	ended    chan struct{}      // closed when that row has; nil: there was none
}

func newSupervisor(ctx context.Context, o supervision) *supervisor {
	if o.moved == nil {
		o.moved = func() {}
	}
	return &supervisor{o: o, ctx: ctx, state: Idle, changed: make(chan struct{}), kick: make(chan struct{}, 1)}
}

// Start dials in the background, if nobody has yet.
func (s *supervisor) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Idle {
		if s.o.reserve != nil {
			s.o.reserve()
		}
		s.begin(Starting)
	}
}

// begin starts a row of attempts, the first of them now. It needs s.mu.
func (s *supervisor) begin(state State) {
	s.move(state)
	s.row(s.attempt)
}

// row starts a row of attempts, behind the end of the one before: what that one started may hold a port or a file. It
// needs s.mu.
func (s *supervisor) row(attempts func(ctx context.Context, run int)) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.run = cancel
	s.runs++
	run, before, ended := s.runs, s.ended, make(chan struct{})
	s.ended = ended
	s.work.Go(func() {
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before
		}
		attempts(ctx, run)
	})
}

// move enters a state and wakes whoever waits. It needs s.mu; say follows it without.
func (s *supervisor) move(state State) {
	s.state = state
	close(s.changed)
	s.changed = make(chan struct{})
}

// attempt dials once, and goes on as the plan says where that fails.
func (s *supervisor) attempt(ctx context.Context, run int) {
	if ctx.Err() != nil {
		return
	}
	l, err := s.o.dial(ctx)
	if err != nil {
		s.failed(ctx, run, err)
		return
	}
	s.mu.Lock()
	if s.runs != run || s.state == Closed { // it was called off
		s.mu.Unlock()
		_ = l.Close()
		return
	}
	if s.up {
		s.restarts++
	}
	s.err, s.up, s.since, s.next = nil, true, time.Now(), time.Time{}
	if !s.o.brief {
		s.link = l
	}
	s.move(Up)
	s.mu.Unlock()
	s.o.moved()
	if s.o.brief {
		_ = l.Close()
		return
	}
	s.work.Go(func() {
		select {
		case <-l.session.Done():
			s.lost(l)
		case <-s.ctx.Done():
		}
	})
}

// failed counts a dial that led to nothing, unless it was called off.
func (s *supervisor) failed(ctx context.Context, run int, err error) {
	s.mu.Lock()
	if s.runs != run || s.state == Closed || ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	s.failures++
	step := s.fall(err, nil)
	s.mu.Unlock()
	s.goOn(ctx, run, step)
}

// lost takes a connection that has ended out of use. Of many callers one counts the loss; when lost returns, it is
// counted.
func (s *supervisor) lost(l *link) {
	s.mu.Lock()
	if s.link != l {
		s.mu.Unlock()
		select {
		case <-l.counted:
		case <-s.ctx.Done():
		}
		return
	}
	if s.o.plan.startsAnew(time.Since(s.since), l.served.Load()) {
		s.failures = 0
	}
	s.failures++
	l.nth = s.failures
	step := s.fall(s.lossOf(l), l)
	close(l.counted)
	s.row(func(ctx context.Context, run int) {
		_ = l.Close() // before the next one starts: they may want the same port or file
		s.goOn(ctx, run, step)
	})
	s.mu.Unlock()
}

// drop closes a connection on purpose and lets the next need, or again, dial. It reports false if it wasn't in use.
func (s *supervisor) drop(l *link, reason string, again bool) bool {
	if !s.letGo(l, reason) {
		return false
	}
	_ = l.Close()
	if again {
		s.Start()
	}
	return true
}

// sessionOver is why a connection is closed whose session the server has ended.
const sessionOver = "the server has ended the session"

// lastAnswers is how long the calls of a session that is over are left to be told so, each by its own answer.
const lastAnswers = 2 * time.Second

// expire is drop for a connection whose session the server has ended. It is closed a little later: the server is about to
// say of its other calls, too, that it didn't run them.
func (s *supervisor) expire(l *link) {
	if !s.letGo(l, sessionOver) {
		return
	}
	s.mu.Lock()
	closed := s.state == Closed
	if !closed {
		s.work.Go(func() {
			timer := time.NewTimer(lastAnswers)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-l.session.Done():
			case <-s.ctx.Done():
			}
			_ = l.Close()
		})
	}
	s.mu.Unlock()
	if closed {
		_ = l.Close()
	}
}

// letGo takes a connection out of use on purpose; false if it wasn't in use.
func (s *supervisor) letGo(l *link, reason string) bool {
	s.mu.Lock()
	if s.link != l {
		s.mu.Unlock()
		return false
	}
	if s.o.plan.startsAnew(time.Since(s.since), l.served.Load()) {
		s.failures = 0
	}
	s.link, s.err = nil, nil
	s.move(Idle)
	close(l.counted)
	s.mu.Unlock()
	s.o.record(event.ServerDisconnected{Server: s.o.server, Reason: reason})
	s.o.moved()
	return true
}

// fall is one step down: the connection is gone, and the plan says what follows. It needs s.mu.
func (s *supervisor) fall(err error, l *link) step {
	wait, goOn := s.o.plan.next(s.failures, err, rand.Float64())
	st := step{nth: s.failures, err: err, lost: l, wait: wait, last: !goOn}
	s.link = nil
	if st.last {
		s.err, s.next = s.givenUp(err), time.Time{}
		s.move(s.o.plan.end())
		return st
	}
	s.next = time.Now().Add(wait)
	s.err = s.down(err, wait)
	s.move(s.o.plan.fallen())
	return st
}

// step is what one failure leads to.
type step struct {
	nth  int
	err  error
	lost *link // nil: a dial failed
	wait time.Duration
	last bool // the plan is at its end
}

// goOn tells of a failure, waits, and tries again.
func (s *supervisor) goOn(ctx context.Context, run int, st step) {
	s.o.record(s.words(st)...)
	if st.last {
		s.o.moved()
		return
	}
	s.o.moved()
	timer := time.NewTimer(st.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.kick:
	case <-ctx.Done():
		return
	}
	s.attempt(ctx, run)
}

// words are the events of a failure.
func (s *supervisor) words(st step) []event.Data {
	var all []event.Data
	if s.o.plan.process || st.lost != nil {
		all = append(all, crashOf(s.o.server, st))
	} else if !st.last {
		all = append(all, event.ServerDisconnected{Server: s.o.server, Reason: reason(st.err)})
	}
	switch {
	case st.last && s.o.plan.process:
		all = append(all, event.ServerFailed{Server: s.o.server, Reason: reason(st.err)})
	case st.last:
		all = append(all, event.ServerUnavailable{Server: s.o.server, Reason: reason(st.err)})
	case s.o.plan.process:
		all = append(all, event.ServerRestarting{Server: s.o.server, Attempt: st.nth, DelayMs: st.wait.Milliseconds()})
	}
	return all
}

// Restart ends the connection, whatever its state, forgets all failures and dials. In-flight calls fail.
func (s *supervisor) Restart() {
	s.mu.Lock()
	if s.state == Closed {
		s.mu.Unlock()
		return
	}
	old := s.link
	if s.run != nil {
		s.run()
	}
	s.link, s.err, s.failures, s.next = nil, nil, 0, time.Time{}
	if old != nil {
		close(old.counted)
	}
	s.move(Starting)
	s.row(func(ctx context.Context, run int) {
		if old != nil {
			_ = old.Close()
		}
		s.attempt(ctx, run)
	})
	s.mu.Unlock()
}

// Nudge says that the way to the server may be open again: a wait for the next dial ends, and a server that was given
// up for the time being is dialled once. A process that failed for good isn't helped by that.
func (s *supervisor) Nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case Unavailable:
		s.begin(Reconnecting)
	case Reconnecting:
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// current is the connection while there is one.
func (s *supervisor) current() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// Close ends the connection for good and waits for all that the supervisor started.
func (s *supervisor) Close() (was State) {
	s.mu.Lock()
	old := s.link
	was, s.link = s.state, nil
	if s.run != nil {
		s.run()
	}
	s.move(Closed)
	if old != nil {
		close(old.counted)
	}
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	s.work.Wait()
	return was
}

func (s *supervisor) fault(detail string) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Server: s.o.server, Detail: detail}
}
