package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// A breaker keeps calls away from a server that fails (D4). The states, the window and the cooldown are failsafe's; the
// probes are counted here, as failsafe takes a permit back only together with a verdict, from whichever call, and couldn't
// let three try while the first verdict decides.
//
// failsafe counts in tenths of the window: a failure counts for at most the window and at least nine tenths of it.
//
// All methods take a nil *breaker for none.
type breaker struct {
	server string
	most   int // probes at once
	tell   func(from, to string)

	mu      sync.Mutex // held for each call of circuit, whose listener runs within
	circuit circuitbreaker.CircuitBreaker[*mcp.Message]
	state   circuitbreaker.State
	round   int // how often the state changed: what a call tells of a round that is over doesn't count
	probes  int // under way, whichever round they are from
	changes []circuitbreaker.StateChangedEvent
	telling bool
	still   context.Context // ends when the breaker opens
	opened  context.CancelFunc
}

// permit is what lets one attempt through.
type permit struct {
	round int
	probe bool
}

func newBreaker(server string, s lifecycle.Breaker, tell func(from, to string)) *breaker {
	if s.Failures <= 0 {
		return nil
	}
	b := &breaker{server: server, most: max(s.Probes, 1), tell: tell}
	b.still, b.opened = context.WithCancel(context.Background())
	b.circuit = circuitbreaker.NewBuilder[*mcp.Message]().
		WithFailureThresholdPeriod(uint(s.Failures), max(s.Window, time.Millisecond)). // below 10 ns failsafe divides by 0
		WithDelay(s.Cooldown).
		WithSuccessThreshold(1).
		OnStateChanged(b.changed).
		Build()
	return b
}

// take lets one attempt through, or returns why not. What it gives must be settled.
func (b *breaker) take() (permit, error) {
	if b == nil {
		return permit{}, nil
	}
	b.mu.Lock()
	defer b.unlock()
	if err := b.check(); err != nil {
		return permit{}, err
	}
	p := permit{round: b.round, probe: b.state == circuitbreaker.HalfOpenState}
	if p.probe {
		b.probes++
	}
	return p, nil
}

// refusal is what take would refuse a call with, nil if it wouldn't.
func (b *breaker) refusal() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.unlock()
	return b.check()
}

// check needs b.mu. It ends a cooldown that is over.
func (b *breaker) check() error {
	if b.state == circuitbreaker.OpenState {
		if left := b.circuit.RemainingDelay(); left > 0 {
			return &fault.Error{Kind: fault.BreakerOpen, Server: b.server, Retry: left}
		}
		b.circuit.HalfOpen()
	}
	if b.state == circuitbreaker.HalfOpenState && b.probes >= b.most {
		return &fault.Error{Kind: fault.BreakerOpen, Server: b.server, Detail: "it is being tried with other calls just now"}
	}
	return nil
}

// settle takes a permit back with what became of its attempt.
func (b *breaker) settle(p permit, v verdict) {
	if b == nil || !p.probe && v != bad { // a success changes nothing while the breaker is closed
		return
	}
	b.mu.Lock()
	defer b.unlock()
	if p.probe {
		b.probes--
	}
	if p.round == b.round {
		b.count(v)
	}
}

// dialed counts a dial, which needs no permit.
func (b *breaker) dialed(v verdict) {
	if b == nil || v != bad {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	b.count(v)
}

// try ends a cooldown before its time.
func (b *breaker) try() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	if b.state == circuitbreaker.OpenState {
		b.circuit.HalfOpen()
	}
}

// count needs b.mu. Half open, one success closes it and one failure opens it again.
func (b *breaker) count(v verdict) {
	switch {
	case v == bad && b.state != circuitbreaker.OpenState:
		b.circuit.RecordFailure()
	case v == good && b.state == circuitbreaker.HalfOpenState:
		b.circuit.RecordSuccess()
	}
}

// openFor is how long the breaker surely refuses all calls from now on; 0: it may let one through.
func (b *breaker) openFor() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuit.RemainingDelay()
}

// calm returns a context that ends when the breaker opens, and has ended until its cooldown is over.
func (b *breaker) calm() context.Context {
	if b == nil {
		return context.Background()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.still
}

// name is the state. It is half open when the cooldown is over, though circuit and the hook learn that from the next call.
func (b *breaker) name() string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == circuitbreaker.OpenState && b.circuit.RemainingDelay() <= 0 {
		return circuitbreaker.HalfOpenState.String()
	}
	return b.state.String()
}

func (b *breaker) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.unlock()
	b.circuit.Close()
}

// changed is failsafe's listener. It runs within a call of circuit, so with b.mu held, and tells nobody yet.
func (b *breaker) changed(e circuitbreaker.StateChangedEvent) {
	b.state = e.NewState
	b.round++
	switch circuitbreaker.OpenState {
	case e.NewState:
		b.opened()
	case e.OldState:
		b.still, b.opened = context.WithCancel(context.Background())
	}
	if b.tell != nil {
		b.changes = append(b.changes, e)
	}
}

// unlock unlocks b.mu and tells what changed meanwhile. One goroutine tells at a time, also what others changed.
func (b *breaker) unlock() {
	defer b.mu.Unlock()
	if b.telling {
		return
	}
	for len(b.changes) > 0 {
		e := b.changes[0]
		b.changes, b.telling = b.changes[1:], true
		b.mu.Unlock()
		b.tell(e.OldState.String(), e.NewState.String())
		b.mu.Lock()
		b.telling = false
	}
}

// verdict is what an attempt says of the server's health.
type verdict int

const (
	unclear verdict = iota // nothing: it was cancelled, or failed on our side
	good                   // the server answers, whatever it says
	bad
)

// judge says what the end of an attempt tells of the server. A result with isError has no err: it is a success (D4).
func judge(err error) verdict {
	if err == nil {
		return good
	}
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Restarted, fault.Unstable, fault.Timeout, fault.Protocol:
		return bad
	case fault.ServerError:
		if e, ok := errors.AsType[*transport.StatusError](err); ok && e.Status >= http.StatusInternalServerError {
			return bad
		}
		return good
	case fault.TooLarge:
		return good
	}
	return unclear
}
