package journal

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/killpoint"
)

// writer is who brings what is queued into files: it puts each event into its session's chain and writes its line.
// Whoever waits takes its lock and writes for all that queued before: there is no goroutine to hand over to.
type writer struct {
	w        sync.Mutex // taken before Journal.mu
	cur      *file      // nil once closed
	old      *file      // finished, and sealed when the checkpoint that names it is durable
	rotating bool       // go on in a new file
	limit    int64      // a file from this size on is finished; 0 while starting, when none is
	fresh    int        // events in cur that are no checkpoint
	sessions map[string]*session
	spool    *spool // nil: the queue lies in memory alone
	out      *queue // taken over from the queue; kept until it is durable
	lines    []byte // of out, or a checkpoint; kept until they are durable
	sync     func(*os.File) error
}

// writeUntil makes everything up to m durable.
func (j *Journal) writeUntil(m uint64) error {
	j.mu.Lock()
	known := m <= j.appended
	j.mu.Unlock()
	if !known {
		return errors.New("a mark of another log")
	}
	j.w.Lock()
	defer j.w.Unlock()
	for j.durable.Load() < m {
		if err := j.drain(); err != nil && j.durable.Load() < m {
			return err
		}
	}
	return nil
}

// flush writes what is queued now.
func (j *Journal) flush() error {
	j.w.Lock()
	defer j.w.Unlock()
	return j.drain()
}

// drain writes what an earlier attempt left, or else what is queued, and finishes a rotation. The caller holds j.w.
func (j *Journal) drain() (err error) {
	defer func() { j.failing.Store(err != nil) }()
	for {
		if j.cur == nil {
			return ErrClosed
		}
		if len(j.lines) == 0 {
			if err := j.next(); err != nil || len(j.lines) == 0 {
				return err
			}
		}
		if err := j.write(); err != nil {
			return err
		}
		if !j.rotating && j.old == nil {
			return nil
		}
	}
}

// next makes the lines that are due: the checkpoint of a finished file, else those of what is queued.
func (j *Journal) next() error {
	if j.rotating {
		return j.nextFile()
	}
	if len(j.out.notes) == 0 {
		j.mu.Lock()
		j.queued, j.out = j.out, j.queued
		j.held, j.heldSafe = len(j.out.buf), j.out.safe
		j.mu.Unlock()
	}
	if !j.out.each(j.line) {
		j.lines = j.lines[:0]
		return errSpoiled // for good: this process can't know any more what it was told
	}
	return nil
}

// line puts an event into its session's chain.
func (j *Journal) line(r record, n note) {
	s := j.sessions[string(r.session)]
	if s == nil {
		s = &session{id: string(r.session)}
		j.sessions[s.id] = s
	}
	j.lines = s.line(j.lines, r.stamp, n, r.data)
}

// write makes j.lines durable. It writes at the end of the last good line, so that the rest of a failed attempt is
// overwritten even where it couldn't be cut off. After a failed sync the kernel may have dropped what it could not
// write, and a second sync would say nothing of it: the lines are cut off and written anew before the next sync.
func (j *Journal) write() error {
	killpoint.At("journal.write.before")
	err := j.put()
	killpoint.At("journal.write.after")
	if err == nil && j.full {
		killpoint.At("journal.sync.before")
		err = j.sync(j.cur.f)
		killpoint.At("journal.sync.after")
	}
	if err != nil {
		return errors.Join(err, j.cur.f.Truncate(j.cur.size))
	}
	j.cur.size += int64(len(j.lines))
	j.fresh += len(j.out.notes)
	if j.lines = j.lines[:0]; cap(j.lines) > 4*softPending {
		j.lines = nil
	}
	j.written()
	j.rotating = j.filled()
	if j.old != nil {
		killpoint.At("journal.rotate.checkpointed")
		j.seal(j.old)
		j.old = nil
		killpoint.At("journal.rotate.sealed")
	}
	return nil
}

// written says that j.out is in the files.
func (j *Journal) written() {
	mark := j.durable.Load()
	if len(j.out.notes) > 0 {
		mark = j.out.last
	}
	if j.spool != nil {
		j.spool.written(mark, j.cur.rotation, j.cur.size)
		killpoint.At("journal.spool.written")
	}
	j.out.reset()
	j.durable.Store(mark)
	j.mu.Lock()
	j.held = 0
	j.promise()
	j.mu.Unlock()
}

// filled reports whether the file is finished. One never holds checkpoints alone, however small it is to be, and
// nothing, so no checkpoint either, follows the end of the host session.
func (j *Journal) filled() bool {
	return j.limit > 0 && j.fresh > 0 && j.cur.size >= j.limit && !j.sessions[j.host].ended && j.cur.rotation < lastRotation
}

func (j *Journal) put() error {
	out, at := j.lines, j.cur.size
	if killpoint.Armed("journal.write.half") {
		half := len(out) / 2
		if _, err := j.cur.f.WriteAt(out[:half], at); err != nil {
			return err
		}
		killpoint.At("journal.write.half")
		out, at = out[half:], at+int64(half)
	}
	_, err := j.cur.f.WriteAt(out, at)
	return err
}

// nextFile goes on in a new file, which begins with the checkpoint that names the old one. The old one keeps its lock
// until the new one has its own, and until it is sealed: so another process that starts never takes us for dead.
func (j *Journal) nextFile() error {
	killpoint.At("journal.rotate.before")
	full := event.CheckpointFile{Name: j.cur.name, Size: j.cur.size}
	next, err := create(j.opt.Dir, j.group, j.cur.rotation+1, j.full)
	if err != nil {
		return err
	}
	killpoint.At("journal.rotate.created")
	if err := j.checkpoint([]event.CheckpointFile{full}); err != nil {
		next.f.Close()
		return err
	}
	j.old, j.cur, j.fresh, j.rotating = j.cur, next, 0, false
	return nil
}

// seal makes a finished file read-only. If that fails the file is as good, and the next start tries again.
func (j *Journal) seal(f *file) {
	_ = os.Chmod(filepath.Join(j.opt.Dir, f.name), 0o400)
	f.f.Close()
}

// shut writes all that is queued, takes nothing more and ends what Open started.
func (j *Journal) shut() error {
	j.stop()
	j.w.Lock()
	defer j.w.Unlock()
	var err error
	for err == nil && j.durable.Load() < j.outstanding() {
		err = j.drain()
	}
	killpoint.At("journal.close.flushed")
	for _, f := range []*file{j.old, j.cur} {
		if f != nil {
			err = errors.Join(err, f.f.Close())
		}
	}
	j.old, j.cur = nil, nil
	if j.spool != nil && err == nil {
		j.spool.remove()
	} else if j.spool != nil {
		j.spool.close()
	}
	return err
}

func (j *Journal) outstanding() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appended
}

// abandon is shut for a start that failed: what was written is closed by the next one. An empty file is removed.
func (j *Journal) abandon() {
	j.stop()
	j.w.Lock()
	defer j.w.Unlock()
	if j.cur == nil {
		return
	}
	info, err := j.cur.f.Stat()
	empty := err == nil && info.Size() == 0
	if empty {
		_ = os.Remove(j.cur.f.Name())
	}
	if j.spool != nil && empty {
		j.spool.remove()
	} else if j.spool != nil {
		j.spool.close()
	}
	j.cur.f.Close()
	j.cur = nil
}

// background writes what nobody waits for.
type background struct {
	timer   *time.Timer
	waiting bool // the timer runs; guarded by Journal.mu
	soon    bool // it runs without delay
	running sync.WaitGroup
}

// later arms the timer. The caller holds j.mu.
func (j *Journal) later(d time.Duration) {
	if j.waiting || j.closed {
		return
	}
	j.waiting = true
	j.running.Add(1)
	j.timer.Reset(d)
}

// hurry lets the timer fire now. The caller holds j.mu.
func (j *Journal) hurry() {
	if j.waiting && !j.soon && j.timer.Stop() {
		j.soon = true
		j.timer.Reset(0)
	}
}

func (j *Journal) flushLater() {
	defer j.running.Done()
	j.mu.Lock()
	j.waiting, j.soon = false, false
	j.mu.Unlock()
	if j.flush() == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.later(retryAfter)
}

// stop ends the timer and waits for a flush that it started.
func (j *Journal) stop() {
	j.mu.Lock()
	j.closed = true
	if j.waiting && j.timer.Stop() {
		j.waiting = false
		j.running.Done()
	}
	j.mu.Unlock()
	j.running.Wait()
}
