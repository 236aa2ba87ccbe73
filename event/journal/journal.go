package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/killpoint"
)

// Journal is the log of one process. All methods may be called by many goroutines at once.
type Journal struct {
	opt   Options
	full  bool
	host  string
	group string // what this process's files are named after

	durable atomic.Uint64 // all events up to this one are in the files, as durable as Options say
	spooled atomic.Uint64 // all events up to this one survive the death of this process
	failing atomic.Bool   // the files could not be written when that was last tried
	background

	mu       sync.Mutex      // the queue. Never held during input, output or foreign code.
	known    map[string]bool // sessions, and whether they have ended
	queued   *queue
	held     int    // bytes that the writer has and that are not durable yet
	heldSafe bool   // they lie in the spool
	appended uint64 // events queued so far
	closed   bool

	writer
}

var _ event.Log = (*Journal)(nil)

// Open starts a journal in o.Dir. Before it returns it has closed what processes left open that ended without Close,
// and its host session has begun. It waits for another process that is starting in the same folder until ctx ends.
// An error is a *fault.Error of kind fault.LogUnavailable.
func Open(ctx context.Context, o Options) (*Journal, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	j := &Journal{opt: o, full: o.Durability == DurabilityFull, known: make(map[string]bool), queued: new(queue)}
	j.sessions, j.out, j.sync = make(map[string]*session), new(queue), (*os.File).Sync
	j.timer = time.AfterFunc(time.Hour, j.flushLater)
	j.timer.Stop()
	if err := j.start(ctx); err != nil {
		j.abandon()
		return nil, unavailable(o.Dir, err)
	}
	return j, nil
}

func (j *Journal) start(ctx context.Context) error {
	if err := os.MkdirAll(j.opt.Dir, 0o700); err != nil {
		return err
	}
	lock, err := lockFolder(ctx, j.opt.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	killpoint.At("journal.open.locked")
	there, err := list(j.opt.Dir)
	if err != nil {
		return err
	}
	j.group = groupName(j.opt.Clock(), j.opt.NewID("f_"), there)
	if j.cur, err = create(j.opt.Dir, j.group, 0, j.full); err != nil {
		return err
	}
	killpoint.At("journal.open.created")
	j.openSpool()
	killpoint.At("journal.open.spool")
	j.host = j.opt.NewID("s_")
	if _, err := j.Append(ctx, j.host, event.SessionStarted{Kind: "host"}); err != nil {
		return err
	}
	killpoint.At("journal.open.started")
	if err := j.recover(ctx); err != nil {
		return err
	}
	if err := j.dropOrphans(); err != nil {
		return err
	}
	if err := j.Flush(); err != nil {
		return err
	}
	j.w.Lock()
	j.limit = j.opt.RotateBytes
	j.w.Unlock()
	return nil
}

func (j *Journal) openSpool() {
	if j.full {
		return // each Wait is for the disk
	}
	if j.spool = newSpool(j.opt.Dir, j.group); j.spool == nil {
		return
	}
	for i, q := range [...]*queue{j.queued, j.out} {
		q.part = &j.spool.parts[i]
		q.reset()
	}
}

// Host is the session of this process itself, of kind host. Close ends it.
func (j *Journal) Host() string { return j.host }

// Append orders data after all earlier events of the session and queues it; see event.Log. The first event of a
// session must be session.started (else ErrUnknown), and nothing follows its session.ended (ErrEnded). Data may be
// values or pointers. It writes only when much is queued. The end of ctx doesn't keep an event out of the log.
func (j *Journal) Append(_ context.Context, session string, data ...event.Data) (event.Mark, error) {
	if len(data) == 0 {
		return 0, nil
	}
	killpoint.At("journal.append.before")
	b := batches.Get().(*batch)
	defer b.release()
	if err := b.encode(data, j.opt.Redact); err != nil {
		return 0, &fault.Error{Kind: fault.Internal, Detail: "an event can't be recorded", Cause: err}
	}
	b.stamp = j.opt.Clock().UTC().AppendFormat(b.stamp, event.TimeFormat)
	killpoint.At("journal.append.encoded")
	m, err := j.enqueue(session, b)
	for err == errFull && b.size() <= j.opt.MaxPending {
		if err = j.flush(); err != nil {
			break
		}
		m, err = j.enqueue(session, b)
	}
	killpoint.At("journal.append.queued")
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrUnknown) {
		return 0, &fault.Error{Kind: fault.Internal, Detail: "session " + session, Cause: err}
	}
	return m, unavailable(j.opt.Dir, err)
}

// enqueue takes all of b or nothing.
func (j *Journal) enqueue(id string, b *batch) (event.Mark, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admit(id, b); err != nil {
		return 0, err
	}
	if len(j.queued.buf)+j.held+b.size() > j.opt.MaxPending {
		return 0, errFull
	}
	if !j.queued.add(j.appended+1, id, b) {
		return 0, errSpoiled
	}
	j.known[id] = b.endsSession()
	j.appended = j.queued.last
	killpoint.At("journal.append.copied")
	j.promise()
	j.later(j.opt.flushAfter)
	if len(j.queued.buf) >= min(softPending, j.opt.MaxPending/2) {
		j.hurry()
	}
	return event.Mark(j.appended), nil
}

// promise makes what is queued survive this process, unless something before it doesn't yet. The caller holds j.mu.
func (j *Journal) promise() {
	if q := j.queued; q.safe && (j.held == 0 || j.heldSafe) {
		if q.safe = q.part.commit(len(q.buf)); q.safe {
			j.spooled.Store(j.appended)
		}
	}
}

// admit reports whether the session can take b.
func (j *Journal) admit(id string, b *batch) error {
	ended, known := j.known[id]
	switch {
	case j.closed:
		return ErrClosed
	case ended:
		return ErrEnded
	case known:
		return nil
	case !event.ValidSession(id):
		return fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if _, starts := b.data[0].(event.SessionStarted); !starts {
		return ErrUnknown
	}
	return nil
}

// Wait returns when everything up to m is as durable as Options.Durability says. If it can't be made so, Wait returns
// why, as a *fault.Error of kind fault.LogUnavailable; nothing is lost, and a later Wait, or the journal by itself,
// tries again. It doesn't interrupt a write when ctx ends.
//
// With DurabilityProcess that is mostly at once, since the queue itself lies in a file; Flush brings it into the log's.
func (j *Journal) Wait(ctx context.Context, m event.Mark) error {
	if j.durable.Load() >= uint64(m) || j.spooled.Load() >= uint64(m) && !j.failing.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return unavailable(j.opt.Dir, j.writeUntil(uint64(m)))
}

// Flush writes all that was appended before into the files, where Read finds it. The journal does so by itself every
// 20 ms. Errors are those of Wait.
func (j *Journal) Flush() error {
	return unavailable(j.opt.Dir, j.writeUntil(j.outstanding()))
}

// Close ends the host session, writes all that is queued and lets go of the files. Sessions that are still open are
// closed by the next Open, which also makes the last file read-only once a checkpoint names it. The error says what
// could not be written; with DurabilityProcess the next Open does that. A second Close does nothing.
func (j *Journal) Close() error {
	killpoint.At("journal.close.before")
	_, err := j.Append(context.Background(), j.host, event.SessionEnded{Reason: "orderly"})
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case errors.Is(err, ErrEnded): // by its user, or by another Close that is not done yet
		err = nil
	}
	killpoint.At("journal.close.ended")
	return unavailable(j.opt.Dir, errors.Join(err, j.shut()))
}
