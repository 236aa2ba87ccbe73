package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

// A guard stands between the callers of one server and the server: a bound for the calls that it has at once, a breaker
// and the ladder of retries, in this order from the outside: retry, bound, breaker, call. All methods are safe for
// concurrent use. It starts nothing that lasts, so it needs no end.
type guard struct {
	server  string
	room    bulkhead.Bulkhead[*mcp.Message] // nil: no bound
	breaker *breaker                        // nil: there is none
	retries lifecycle.Backoff
	climber failsafe.Executor[*mcp.Message]
}

// guardHooks are told what a guard does. They are called without a lock.
type guardHooks struct {
	Server string // its name, for the faults that the guard itself makes

	// Breaker hears of the breaker's states, "closed", "open" and "half-open": in their order and never twice at once, but
	// maybe a moment after another call has seen the new one. The call that it is called from waits for it.
	Breaker func(from, to string)
}

// tryFunc is one attempt. They count from 1; last is the error of the one before.
type tryFunc func(attempt int, last error) (*mcp.Message, error)

// againFunc says whether a call that failed with err may be tried again, and how long to wait at least.
type againFunc func(err error) (yes bool, after time.Duration)

// newGuard makes the guard of one server.
func newGuard(s lifecycle.Settings, hooks guardHooks) *guard {
	g := &guard{server: hooks.Server, retries: s.Retry, climber: newClimber(), breaker: newBreaker(hooks.Server, s.Breaker, hooks.Breaker)}
	if s.Concurrent > 0 {
		g.room = bulkhead.New[*mcp.Message](uint(s.Concurrent))
	}
	return g
}

// do calls try until it succeeds, may not be tried again, or ctx or the ladder ends. Each attempt has its own place among
// the calls that run at once and is let through by the breaker on its own; a call that waits for its next attempt has
// neither. An attempt that isn't made, because the breaker opened or ctx would end first, leaves the error of the one
// before. Without any attempt the error is BreakerOpen, Timeout or Cancelled, and try was never called.
func (g *guard) do(ctx context.Context, try tryFunc, again againFunc) (*mcp.Message, error) {
	answer, made, err := g.attempt(ctx, 1, nil, try)
	if err == nil || !made {
		return answer, err
	}
	return g.climb(ctx, answer, err, try, again)
}

// dialed tells the breaker how a dial ended. No dial is ever kept from the server. Only failures count, but see reached.
// What calls return that waited for the dial is to be marked with noConnection.
func (g *guard) dialed(err error) { g.breaker.dialed(judge(err)) }

// reached ends the breaker's cooldown: the server was dialled, and answers. What closes a breaker is a call that it
// answers, so some may try.
func (g *guard) reached() { g.breaker.try() }

// noConnection marks the error of an attempt that got no connection, for do: the breaker has heard of it from dialed, and
// not once more from each call that waited. do takes the mark off at once: neither again nor the caller sees it.
func noConnection(err error) error {
	if err == nil {
		return nil
	}
	return &unconnected{err}
}

type unconnected struct{ error }

func (u *unconnected) Unwrap() error { return u.error }

// state is "closed", "open" or "half-open", and empty without a breaker.
func (g *guard) state() string { return g.breaker.name() }

// reset closes the breaker, for when somebody who knows better says that the server is well.
func (g *guard) reset() { g.breaker.close() }

// attempt makes one attempt, if there is room and the breaker lets it through; made is whether try was called.
func (g *guard) attempt(ctx context.Context, n int, last error, try tryFunc) (answer *mcp.Message, made bool, err error) {
	if err := g.enter(ctx); err != nil {
		return nil, false, err
	}
	defer g.leave()
	p, err := g.breaker.take()
	if err != nil {
		return nil, false, err
	}
	v := unclear // if try panics
	defer func() { g.breaker.settle(p, v) }()
	answer, err = try(n, last)
	if u, ok := err.(*unconnected); ok {
		return answer, true, u.error
	}
	v = judge(err)
	return answer, true, err
}

func (g *guard) enter(ctx context.Context) error {
	if g.room == nil || g.room.TryAcquirePermit() {
		return nil
	}
	return g.queue(ctx)
}

func (g *guard) leave() {
	if g.room != nil {
		g.room.ReleasePermit()
	}
}

// queue waits for room. Who waits when the breaker opens doesn't wait for calls that hang, but fails at once.
func (g *guard) queue(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := g.breaker.refusal(); err != nil {
			return err
		}
		if g.queueUntil(ctx, g.breaker.calm()) {
			return nil
		}
	}
	return gaveUp(ctx, g.server, "the call waited behind others and was not sent")
}

func (g *guard) queueUntil(ctx, calm context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(calm, cancel)()
	return g.room.AcquirePermit(ctx) == nil
}

// gaveUp is the fault of a call whose ctx ended before it was sent.
func gaveUp(ctx context.Context, server, why string) *fault.Error {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*fault.Error](cause); ok {
		c := *e
		if c.Server == "" {
			c.Server = server
		}
		return &c
	}
	kind := fault.Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		kind = fault.Timeout
	}
	return &fault.Error{Kind: kind, Server: server, Detail: why, Cause: cause}
}
