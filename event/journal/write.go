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

// writer is who brings lines into files. Whoever waits takes its lock and writes for all that queued before: there is
// no goroutine to hand over to.
type writer struct {
	w        sync.Mutex // taken before Journal.mu
	cur      *file      // nil once closed
	old      *file      // finished, and sealed when the checkpoint that names it is durable
	rotating bool       // after out, go on in a new file
	out      []byte     // lines taken from the queue; kept until they are durable
	outMark  uint64     // the last event in out
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
func (j *Journal) drain() error {
	for {
		if j.cur == nil {
			return ErrClosed
		}
		if j.rotating && len(j.out) == 0 {
			if err := j.nextFile(); err != nil {
				return err
			}
		}
		if len(j.out) == 0 {
			if err := j.take(); err != nil || len(j.out) == 0 {
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

// take swaps the queue's buffer for the empty one. If the file is full with it, the queue then begins with the
// checkpoint that opens the next file, ahead of all that is appended from now on.
func (j *Journal) take() error {
	j.mu.Lock()
	filled := j.filled()
	j.mu.Unlock()
	var stamp []byte
	if filled {
		stamp = j.opt.Clock().UTC().AppendFormat(nil, event.TimeFormat)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	filled = filled && j.filled() // the host session may have ended since
	spare := j.out[:0]
	if cap(spare) > 2*softPending {
		spare = nil
	}
	j.out, j.pending = j.pending, spare
	j.outMark, j.held = j.appended, len(j.out)
	if !filled {
		return nil
	}
	full := event.CheckpointFile{Name: j.cur.name, Size: j.cur.size + int64(len(j.out))}
	if err := j.checkpoint(stamp, []event.CheckpointFile{full}); err != nil {
		return err
	}
	j.fresh, j.rotating = 0, true
	return nil
}

// filled reports whether the file is finished after what is queued. A file never holds checkpoints alone, however
// small it is to be, and nothing, so no checkpoint either, follows the end of the host session. The caller holds j.mu.
func (j *Journal) filled() bool {
	return j.limit > 0 && j.fresh > 0 && len(j.pending) > 0 && !j.sessions[j.host].ended && j.cur.rotation < lastRotation &&
		j.cur.size+int64(len(j.pending)) >= j.limit
}

// write makes j.out durable. It writes at the end of the last good line, so that the rest of a failed attempt is
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
	j.cur.size += int64(len(j.out))
	j.out = j.out[:0]
	j.mu.Lock()
	j.held = 0
	j.mu.Unlock()
	j.durable.Store(j.outMark)
	if j.old != nil {
		killpoint.At("journal.rotate.checkpointed")
		j.seal(j.old)
		j.old = nil
		killpoint.At("journal.rotate.sealed")
	}
	return nil
}

func (j *Journal) put() error {
	out, at := j.out, j.cur.size
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

// nextFile goes on in a new file. The old one keeps its lock until the new one has its own, and until it is sealed:
// so another process that starts never takes us for dead.
func (j *Journal) nextFile() error {
	killpoint.At("journal.rotate.before")
	next, err := create(j.opt.Dir, j.group, j.cur.rotation+1, j.full)
	if err != nil {
		return err
	}
	killpoint.At("journal.rotate.created")
	j.old, j.cur, j.rotating = j.cur, next, false
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
	if info, err := j.cur.f.Stat(); err == nil && info.Size() == 0 {
		_ = os.Remove(j.cur.f.Name())
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
