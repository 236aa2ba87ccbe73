package approval

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"
)

// What a configuration that says nothing gets.
const (
	DefaultWait = 25 * time.Second
	DefaultKeep = 15 * time.Minute
)

// pollTime is how soon an answer that another process took is seen.
const pollTime = 250 * time.Millisecond

// writeTime bounds what has to be written although its call has ended.
const writeTime = 5 * time.Second

// Options configure a Queue.
type Options struct {
	Store Store // nil: a Memory of its own
	// Wait is how long a call waits for an answer. 0: not at all, and then no Asker is asked.
	Wait time.Duration
	// Keep is how long a question stays open. Default DefaultKeep. An answered question keeps that end, too.
	Keep time.Duration
	// Elsewhere says that an answer may come by another way than the Askers of the call: by Answer, or from a process
	// that shares the Store. Without it a question ends with the last call that waits for it, since nobody could answer
	// any more, and one that no Asker can ask fails at once.
	Elsewhere bool

	Clock func() time.Time           // default time.Now
	NewID func(prefix string) string // default random
	// Owner names this process among those that share the Store, and Alive tells of another's name whether it still
	// runs; where it doesn't know, true. Default: by process id and start time.
	Owner string
	Alive func(owner string) bool
}

// Queue keeps questions. All methods are safe for concurrent use.
type Queue struct {
	o    Options
	life context.Context
	end  context.CancelCauseFunc

	mu    sync.Mutex
	rooms map[string]*room    // by the question's ID, while a call of this process waits for it
	mine  map[string]struct{} // the sessions of this process that asked
}

// room is where the calls of this process wait for one question.
type room struct {
	waiting int
	asking  bool          // one of them has its Askers ask; the same question isn't asked twice at once
	changed chan struct{} // closed, and another put in its place, when there is something to look at
}

// New returns a Queue. It starts nothing; Close ends what its calls started.
func New(o Options) *Queue {
	if o.Store == nil {
		o.Store = new(Memory)
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = func(prefix string) string { return prefix + rand.Text()[:12] }
	}
	if o.Owner == "" {
		o.Owner = self()
	}
	if o.Alive == nil {
		o.Alive = alive
	}
	q := &Queue{o: o, rooms: map[string]*room{}, mine: map[string]struct{}{}}
	q.life, q.end = context.WithCancelCause(context.Background())
	return q
}

// Close ends all calls that wait; their questions stay open. The sessions of this Queue have ended by then. It is
// idempotent, and fails where the Store does: then the sessions count as ended once the process has.
func (q *Queue) Close() error {
	q.end(errClosed)
	q.mu.Lock()
	mine := slices.Collect(maps.Keys(q.mine))
	clear(q.mine)
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	return q.over(ctx, mine)
}

// End says that a session has ended: from now on the identical call of another session, of the same principal and
// client, gets the answers to its questions. It costs nothing for a session that never asked.
func (q *Queue) End(ctx context.Context, session string) error {
	q.mu.Lock()
	_, asked := q.mine[session]
	delete(q.mine, session)
	q.mu.Unlock()
	if !asked {
		return nil
	}
	return q.over(ctx, []string{session})
}

func (q *Queue) over(ctx context.Context, sessions []string) error {
	if len(sessions) == 0 {
		return nil
	}
	return q.o.Store.Write(ctx, func(tx Tx) error {
		rows, err := tx.All()
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Over || row.Owner != q.o.Owner || !slices.Contains(sessions, row.Session) {
				continue
			}
			row.Over = true
			if err := tx.Put(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// now is in whole milliseconds, as Stores keep times.
func (q *Queue) now() time.Time { return q.o.Clock().UTC().Truncate(time.Millisecond) }

// enter lets a call wait in the room of a question.
func (q *Queue) enter(id string) *room {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.rooms[id]
	if r == nil {
		r = &room{changed: make(chan struct{})}
		q.rooms[id] = r
	}
	r.waiting++
	return r
}

// leave reports whether nobody is left.
func (q *Queue) leave(id string, r *room) (last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return false
	}
	delete(q.rooms, id)
	return true
}

// watch returns what is closed at the next change.
func (q *Queue) watch(r *room) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.changed
}

// wake has all who wait for a question look at it.
func (q *Queue) wake(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.rooms[id]; r != nil {
		r.turn()
	}
}

// turn needs the lock of the Queue.
func (r *room) turn() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// takeTurn makes the caller the one that asks, unless another is.
func (q *Queue) takeTurn(r *room) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.asking {
		return false
	}
	r.asking = true
	return true
}

func (q *Queue) giveTurn(r *room) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.asking = false
	r.turn()
}

func (q *Queue) asked(r *room) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.asking
}
