package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// maxArgs is the longest arguments that are kept, which is as long as a message may be.
const maxArgs = 16 << 20

// call is one call that needs an answer.
type call struct {
	q       *Queue
	session string
	key     string
	client  string
	body    body
	args    []byte
	askers  []permission.Asker
	patient bool // it waits for an answer
}

func (q *Queue) call(question permission.Question, askers []permission.Asker) (*call, error) {
	if len(question.Args) > maxArgs {
		return nil, fmt.Errorf("the arguments are %d bytes long; nobody can be asked about more than %d", len(question.Args), maxArgs)
	}
	b := bodyOf(question, digestOf(question.Args))
	return &call{
		q: q, session: question.Session, key: keyOf(b), client: hash(b.Principal, b.Client), body: b, args: question.Args, askers: askers,
	}, nil
}

// claim finds what is on record about the call, or puts the question there. The row it returns is Used where there was a
// yes, which nobody else can use then; Denied; or Waiting.
func (c *call) claim(ctx context.Context) (row Row, err error) {
	err = c.q.o.Store.Write(ctx, func(tx Tx) error {
		rows, err := tx.Find(c.key)
		if err != nil {
			return err
		}
		now := c.q.now()
		found, ok, err := c.pick(rows, now)
		if err != nil {
			return err
		}
		if !ok {
			row, err = c.add(tx, now)
			return err
		}
		row, err = c.take(tx, found)
		return err
	})
	if err == nil {
		c.q.mu.Lock()
		c.q.mine[c.session] = struct{}{}
		c.q.mu.Unlock()
	}
	return row, err
}

// pick chooses the row that is about this call: the newest of its session, else of one that has ended.
func (c *call) pick(rows []Row, now time.Time) (best Row, ok bool, err error) {
	for _, row := range rows {
		if !row.binds(now) {
			continue
		}
		if row.Session == c.session && row.Owner == c.q.o.Owner {
			best, ok = row, true
			continue
		}
		if ok && best.Session == c.session || !c.left(row) {
			continue
		}
		if row.State == Denied {
			// A no from where the call was made is about that session: whoever sits at the next one is asked again.
			b, err := decode(row)
			if err != nil {
				return row, false, err
			}
			if !b.Elsewhere {
				continue
			}
		}
		best, ok = row, true
	}
	return best, ok, nil
}

// left reports whether the session of the row has ended.
func (c *call) left(row Row) bool {
	return row.Over || row.Owner != c.q.o.Owner && !c.q.o.Alive(row.Owner)
}

// take uses a yes up, or makes an open question one of this session.
func (c *call) take(tx Tx, row Row) (Row, error) {
	switch row.State {
	case Allowed:
		row.State = Used
		if err := tx.SetArgs(row.ID, nil); err != nil {
			return row, err
		}
	case Waiting:
		if row.Session == c.session && row.Owner == c.q.o.Owner && !row.Over {
			return row, nil
		}
		row.Session, row.Owner, row.Over = c.session, c.q.o.Owner, false
	default:
		return row, nil
	}
	return row, tx.Put(row)
}

// add puts a new question on record.
func (c *call) add(tx Tx, now time.Time) (Row, error) {
	rows, err := tx.All()
	if err != nil {
		return Row{}, err
	}
	if rows, err = tidy(tx, rows, now); err != nil {
		return Row{}, err
	}
	row := Row{
		ID: c.q.o.NewID("q_"), Key: c.key, Session: c.session, Owner: c.q.o.Owner, Client: c.client,
		Asked: now, Expires: now.Add(c.q.o.Keep).Truncate(time.Millisecond), Bytes: int64(len(c.args)),
	}
	if err := fits(rows, row); err != nil {
		return row, err
	}
	if row.Body, err = c.body.encode(); err != nil {
		return row, err
	}
	if err := tx.Put(row); err != nil {
		return row, err
	}
	return row, tx.SetArgs(row.ID, append([]byte{}, c.args...))
}
