package approval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// Answer answers a question from elsewhere than its call's Askers. It fails with ErrAnswered, ErrExpired or ErrUnknown
// where the question takes no answer any more, and says how it ended. A yes is on disk when Answer returns, and lets the
// identical call pass once until the question's Expires. Its Scope is Once where the question is OnceOnly.
//
// Whether the one who answers may do so is the caller's to find out.
func (q *Queue) Answer(ctx context.Context, id string, a permission.Answer) error {
	_, err := q.settle(ctx, id, a, settling{elsewhere: true})
	return err
}

type settling struct {
	elsewhere bool
	use       bool // the call that asked uses the yes at once
}

// settle puts the first answer on record, and returns it as it is there.
func (q *Queue) settle(ctx context.Context, id string, a permission.Answer, s settling) (permission.Answer, error) {
	err := q.o.Store.Write(ctx, func(tx Tx) error {
		row, err := tx.Get(id)
		if err != nil {
			return err
		}
		b, err := decode(row)
		if err != nil {
			return err
		}
		now := q.now()
		if err := row.takes(b, now); err != nil {
			return err
		}
		if b.question().OnceOnly() || !a.Allow {
			a.Scope = permission.Once
		}
		b.Scope, b.Via, b.By, b.Answered, b.Elsewhere = uint8(a.Scope), a.Via, a.Principal, now, s.elsewhere
		if row.Body, err = b.encode(); err != nil {
			return err
		}
		row.State = Denied
		if a.Allow && s.use {
			row.State = Used
		} else if a.Allow {
			row.State = Allowed
		}
		if row.State != Allowed {
			if err := tx.SetArgs(id, nil); err != nil {
				return err
			}
		}
		return tx.Put(row)
	})
	if err != nil {
		return permission.Answer{}, err
	}
	q.wake(id)
	return a, nil
}

// takes says why the row takes no answer.
func (row Row) takes(b body, now time.Time) error {
	switch s := row.at(now); s {
	case Waiting:
		return nil
	case Expired, Withdrawn:
		return fmt.Errorf("%w (it was open until %s)", ErrExpired, row.Expires.Local().Format(time.DateTime))
	default:
		how := "yes"
		if s == Denied || row.State == Denied {
			how = "no"
		}
		return fmt.Errorf("%w: %s, at %s", ErrAnswered, how, b.Answered.Local().Format(time.DateTime))
	}
}

// List returns the questions in these states, the oldest first, without their arguments; with no states those that wait
// for an answer. Questions that have ended are kept for a day, at most 500 of them.
func (q *Queue) List(ctx context.Context, states ...State) ([]Record, error) {
	if len(states) == 0 {
		states = []State{Waiting}
	}
	var rows []Row
	if err := q.o.Store.Read(ctx, func(tx Tx) (err error) { rows, err = tx.All(); return err }); err != nil {
		return nil, err
	}
	var out []Record
	now := q.now()
	for _, row := range rows {
		if !slices.Contains(states, row.at(now)) {
			continue
		}
		r, err := row.record(now)
		if err != nil {
			return nil, err
		}
		r.Kept = r.State == Waiting || r.State == Allowed
		out = append(out, r)
	}
	return out, nil
}

// Show returns one question with all bytes of its arguments, if it is open; ErrUnknown where there is none.
func (q *Queue) Show(ctx context.Context, id string) (Record, error) {
	var row Row
	var args []byte
	err := q.o.Store.Read(ctx, func(tx Tx) (err error) {
		if row, err = tx.Get(id); err == nil {
			args, err = tx.Args(id)
		}
		return err
	})
	if err != nil {
		return Record{}, err
	}
	r, err := row.record(q.now())
	if err != nil {
		return r, err
	}
	if r.State != Waiting && r.State != Allowed {
		return r, nil
	}
	if digestOf(args) != r.Digest {
		return Record{}, errArgs
	}
	r.Args, r.Kept = args, true
	return r, nil
}
