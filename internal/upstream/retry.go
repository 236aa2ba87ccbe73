package upstream

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
)

// pause is the error of an attempt that is made again after wait. It goes from climb to the policy, and no further.
type pause struct {
	error
	wait time.Duration
}

// newClimber makes what repeats a call as long as it ends in a pause. Whether it does, and how long it lasts, depends on
// the call and its error: a policy of failsafe, which all calls share, can't know.
func newClimber() failsafe.Executor[*mcp.Message] {
	isPause := func(_ *mcp.Message, err error) bool {
		_, ok := err.(*pause)
		return ok
	}
	return failsafe.With[*mcp.Message](retrypolicy.NewBuilder[*mcp.Message]().
		HandleIf(isPause).
		WithMaxRetries(-1). // the ladder's end is pauseFor's
		WithDelayFunc(func(e failsafe.ExecutionAttempt[*mcp.Message]) time.Duration { return e.LastError().(*pause).wait }).
		Build())
}

// climb goes on after a first attempt that failed with err (D3). What the climber returns isn't used: once ctx has ended
// that is always ctx's error, even where the last attempt had an answer.
func (g *guard) climb(ctx context.Context, answer *mcp.Message, err error, try tryFunc, again againFunc) (*mcp.Message, error) {
	attempts, made, paused := 1, true, false
	_ = g.climber.WithContext(ctx).Run(func() error {
		if paused {
			var next error
			var got *mcp.Message
			if got, made, next = g.attempt(ctx, attempts+1, err, try); made {
				attempts, answer, err = attempts+1, got, next
			}
		}
		wait, more := g.pauseFor(ctx, attempts, err, again)
		if paused = made && more; paused {
			return &pause{err, wait}
		}
		return nil
	})
	if stopped := paused || !made; stopped && ctx.Err() != nil {
		if gave := gaveUp(ctx, g.server, "the caller gave it up before the next attempt"); gave.Kind == fault.Cancelled {
			return nil, gave
		}
	}
	return answer, err
}

// pauseFor says how long to wait after an attempt that failed, and whether there is a next one at all. One that ctx
// wouldn't live to see isn't waited for, nor one that the breaker is sure to refuse.
func (g *guard) pauseFor(ctx context.Context, attempts int, err error, again againFunc) (time.Duration, bool) {
	if err == nil || again == nil || attempts > g.retries.Steps || ctx.Err() != nil {
		return 0, false
	}
	yes, least := again(err)
	if !yes || least > g.retries.Cap {
		return 0, false
	}
	chance := rand.Float64()
	// Those who were all told the same time don't come back at the same moment.
	least += time.Duration(float64(least) * g.retries.Jitter * chance)
	wait := max(g.retries.Wait(attempts, chance), least)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, g.breaker.openFor() <= wait
}
