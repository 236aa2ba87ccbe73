package approval

import (
	"context"
	"errors"

	"github.com/usher-mcp/usher/permission"
)

// round is what the Askers of one call do. It is for one goroutine.
type round struct {
	c        *call
	room     *room
	question permission.Question

	replies chan reply
	cancel  context.CancelCauseFunc // nil: they don't ask
	out     int                     // Askers that can't
	failed  []error                 // why, but for ErrNobody
	done    bool                    // all have been asked, and can't
}

type reply struct {
	answer permission.Answer
	err    error
}

// begin has the Askers ask, once it is this call's turn. It fails where nobody can answer.
func (r *round) begin(ctx context.Context) error {
	q := r.c.q
	switch {
	case r.cancel != nil:
		return nil
	case r.done || len(r.c.askers) == 0:
		if q.o.Elsewhere || q.asked(r.room) {
			return nil
		}
		return r.nobody()
	case !q.takeTurn(r.room):
		return nil
	}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.replies = make(chan reply, len(r.c.askers))
	for _, asker := range r.c.askers {
		go func(question permission.Question, replies chan<- reply) {
			answer, err := asker.Ask(ctx, question)
			replies <- reply{answer, err}
		}(r.question, r.replies)
	}
	return nil
}

func (r *round) nobody() error {
	if len(r.failed) == 0 {
		return permission.ErrNobody
	}
	return errors.Join(r.failed...)
}

// stop ends the Askers' contexts, and lets another call have its own ask.
func (r *round) stop(why error) {
	if r.cancel == nil {
		return
	}
	r.cancel(why)
	r.cancel, r.replies = nil, nil
	r.c.q.giveTurn(r.room)
}

// reply takes what one Asker said. An answer that came too late isn't done: the one that came first is on record.
func (r *round) reply(ctx context.Context, said reply) (answer permission.Answer, done bool, err error) {
	if said.err != nil {
		if !errors.Is(said.err, permission.ErrNobody) {
			r.failed = append(r.failed, said.err)
		}
		if r.out++; r.out == len(r.c.askers) {
			r.done = true
			r.stop(nil)
		}
		return answer, false, nil
	}
	use := said.answer.Allow && ctx.Err() == nil
	// What a person said is kept, though the call that asked may have ended meanwhile.
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	answer, err = r.c.q.settle(keep, r.question.ID, said.answer, settling{use: use})
	switch {
	case errors.Is(err, ErrAnswered), errors.Is(err, ErrExpired), errors.Is(err, ErrUnknown):
		return answer, false, nil // look finds what happened
	case err != nil:
		return permission.Answer{}, false, err
	}
	r.stop(ErrElsewhere)
	if answer.Allow && !use {
		return permission.Answer{}, false, ctx.Err()
	}
	return answer, true, nil
}
