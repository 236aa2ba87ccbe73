package approval

import (
	"context"
	"errors"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// Ask returns a person's answer to the question of one call. question.ID, Asked and Expires are the Queue's to set.
//
// What is on record about the identical call comes first: a yes that no call has used is used up by this one, a no is a
// no, and an open question isn't asked again but waited for. Else the Askers ask, all at once; the first answer from
// anywhere is the answer, and ends the contexts of the others. An Asker that fails only can't ask; where all have failed
// and no answer can come from elsewhere, Ask fails with what they said, or with permission.ErrNobody.
//
// After Options.Wait it returns an *Open, and the question stays open; so it does where ctx ends, except that then, and
// where no answer can come from elsewhere, it is withdrawn once no call waits for it. The Askers' contexts end with the
// call in any case: one that gets its answer later hands it to Answer. A question that expires while the call waits is
// ErrExpired, one too many a *Full, and where the Store fails the call may not run. The Scope of an answer is Once where
// the question is OnceOnly. Calls that wait for one question each need a yes of their own, unless its Scope is wider.
func (q *Queue) Ask(ctx context.Context, question permission.Question, askers []permission.Asker) (permission.Answer, error) {
	return q.AskWithin(ctx, question, askers, q.o.Wait)
}

// AskWithin is Ask for a call with a patience of its own in place of Options.Wait.
func (q *Queue) AskWithin(ctx context.Context, question permission.Question, askers []permission.Asker, wait time.Duration) (permission.Answer, error) {
	c, err := q.call(question, askers)
	if err != nil {
		return permission.Answer{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.life, func() { cancel(errClosed) })()
	c.patient = wait > 0
	patience := time.NewTimer(max(wait, 0))
	defer patience.Stop()
	for {
		row, err := c.claim(ctx)
		if err != nil {
			return permission.Answer{}, ended(ctx, err)
		}
		if row.State == Used || row.State == Denied {
			return c.told(row)
		}
		answer, err := c.wait(ctx, row, question, patience.C)
		if !errors.Is(err, errAgain) {
			return answer, ended(ctx, err)
		}
	}
}

// errAgain says that the question went to another call: this one needs its own.
var errAgain = errors.New("ask again")

// ended is err, or why the call ended if that is what happened.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && context.Cause(ctx) == errClosed {
		return errClosed
	}
	return err
}

// told is the answer that the row holds.
func (c *call) told(row Row) (permission.Answer, error) {
	b, err := decode(row)
	if err != nil {
		return permission.Answer{}, err
	}
	return b.answer(row.State), nil
}

// wait returns when the question has an answer, or the call can't wait for one.
func (c *call) wait(ctx context.Context, row Row, question permission.Question, patience <-chan time.Time) (permission.Answer, error) {
	q := c.q
	question.ID, question.Asked, question.Expires = row.ID, row.Asked, row.Expires
	in := q.enter(row.ID)
	defer c.leave(ctx, row.ID, in)
	round := &round{c: c, room: in, question: question}
	defer func() { round.stop(errWaited) }()
	if !c.patient {
		return permission.Answer{}, c.open(row)
	}
	expiry := time.NewTimer(row.Expires.Sub(q.now()))
	defer expiry.Stop()
	var poll <-chan time.Time
	if q.o.Elsewhere {
		ticker := time.NewTicker(pollTime)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		changed := q.watch(in)
		answer, done, err := c.look(ctx, row.ID)
		if done || err != nil {
			round.stop(ErrElsewhere)
			return answer, err
		}
		if err := round.begin(ctx); err != nil {
			return permission.Answer{}, err
		}
		select {
		case <-changed:
		case <-poll:
		case <-expiry.C:
		case r := <-round.replies:
			if answer, done, err := round.reply(ctx, r); done || err != nil {
				return answer, err
			}
		case <-patience:
			return permission.Answer{}, c.open(row)
		case <-ctx.Done():
			return permission.Answer{}, ctx.Err()
		}
	}
}

// open says that the question stays open, if it does.
func (c *call) open(row Row) error {
	switch {
	case c.q.o.Elsewhere:
	case !c.patient:
		return permission.ErrNobody
	default:
		return ErrExpired
	}
	return &Open{ID: row.ID, Expires: row.Expires}
}

// leave withdraws a question that nobody could answer any more.
func (c *call) leave(ctx context.Context, id string, in *room) {
	if last := c.q.leave(id, in); !last || c.q.o.Elsewhere {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	// Where this fails the question expires.
	_ = c.q.o.Store.Write(ctx, func(tx Tx) error {
		row, err := tx.Get(id)
		if err != nil || row.State != Waiting || row.Session != c.session {
			return err
		}
		row.State = Withdrawn
		if err := tx.SetArgs(id, nil); err != nil {
			return err
		}
		return tx.Put(row)
	})
}

// look reports whether the question has an answer for this call, and uses a yes up.
func (c *call) look(ctx context.Context, id string) (answer permission.Answer, done bool, err error) {
	see := func(tx Tx) (row Row, err error) {
		if row, err = tx.Get(id); errors.Is(err, ErrUnknown) || err == nil && (row.Session != c.session || row.Owner != c.q.o.Owner) {
			return row, errAgain
		}
		return row, err
	}
	var row Row
	if err := c.q.o.Store.Read(ctx, func(tx Tx) (err error) { row, err = see(tx); return err }); err != nil {
		return answer, false, err
	}
	if row.at(c.q.now()) == Allowed {
		err := c.q.o.Store.Write(ctx, func(tx Tx) (err error) {
			if row, err = see(tx); err != nil || row.at(c.q.now()) != Allowed {
				return err
			}
			row, err = c.take(tx, row)
			if err == nil {
				answer, err = c.told(row)
			}
			return err
		})
		if err != nil || answer.Allow {
			return answer, answer.Allow && err == nil, err
		}
	}
	switch row.at(c.q.now()) {
	case Waiting:
		return answer, false, nil
	case Denied:
		answer, err = c.told(row)
		return answer, true, err
	case Expired:
		return answer, false, ErrExpired
	case Used: // by another call that waited; a wider yes is for this one as well
		if answer, err = c.told(row); err == nil && answer.Scope != permission.Once {
			return answer, true, nil
		}
	}
	return permission.Answer{}, false, errAgain
}
