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

	durable atomic.Uint64 // all events up to this one are
	background

	mu       sync.Mutex // the queue. Never held during input, output or foreign code.
	sessions map[string]*session
	pending  []byte // lines that nobody writes yet
	held     int    // bytes that the writer has and that are not durable yet
	appended uint64 // events queued so far
	fresh    int    // of them, those since the last rotation that are no checkpoint
	closed   bool
	limit    int64 // a file from this size on is finished; 0 while starting, when none is

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
	j := &Journal{opt: o, full: o.Durability == DurabilityFull, sessions: make(map[string]*session)}
	j.sync = (*os.File).Sync
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
	j.host = j.opt.NewID("s_")
	m, err := j.Append(ctx, j.host, event.SessionStarted{Kind: "host"})
	if err != nil {
		return err
	}
	killpoint.At("journal.open.started")
	if err := j.recover(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	j.limit = j.opt.RotateBytes
	j.mu.Unlock()
	return j.Wait(ctx, m)
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
	s, err := j.admit(id, b)
	if err != nil {
		return 0, err
	}
	if len(j.pending)+j.held+b.size() > j.opt.MaxPending {
		return 0, errFull
	}
	j.sessions[id] = s
	b.each(func(encoded []byte, d event.Data) { j.line(id, s, b.stamp, encoded, d) })
	j.fresh += len(b.ends)
	j.later(flushAfter)
	m := event.Mark(j.appended)
	if len(j.pending) >= min(softPending, j.opt.MaxPending/2) {
		j.hurry()
	}
	return m, nil
}

// admit finds the session, or begins it.
func (j *Journal) admit(id string, b *batch) (*session, error) {
	s := j.sessions[id]
	switch {
	case j.closed:
		return nil, ErrClosed
	case s != nil && s.ended:
		return nil, ErrEnded
	case s != nil:
		return s, nil
	case !event.ValidSession(id):
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if _, starts := b.data[0].(event.SessionStarted); !starts {
		return nil, ErrUnknown
	}
	return new(session), nil
}

// line queues one event. The caller holds j.mu.
func (j *Journal) line(id string, s *session, stamp, encoded []byte, d event.Data) {
	var prev []byte
	if s.seq > 0 {
		prev = s.hash[:]
	}
	var hash [event.HashLen]byte
	j.pending, hash = event.AppendLine(j.pending, s.seq+1, id, stamp, d.Type(), encoded, prev)
	s.advance(s.seq+1, hash, d)
	j.appended++
}

// Wait returns when everything up to m is as durable as Options.Durability says. If it can't be made so, Wait returns
// why, as a *fault.Error of kind fault.LogUnavailable; nothing is lost, and a later Wait, or the journal by itself,
// tries again. It doesn't interrupt a write when ctx ends.
func (j *Journal) Wait(ctx context.Context, m event.Mark) error {
	if j.durable.Load() >= uint64(m) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return unavailable(j.opt.Dir, j.writeUntil(uint64(m)))
}

// Close ends the host session, writes all that is queued and lets go of the files. Sessions that are still open are
// closed by the next Open, which also makes the last file read-only once a checkpoint names it. What can't be
// written is lost, and the error says why. A second Close does nothing.
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
