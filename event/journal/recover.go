package journal

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/killpoint"
)

const restarted = "Usher ended before the answer came. The call may have run; check before you call again."

// deadFile is an unsealed file whose process has ended. We hold its lock.
type deadFile struct {
	entry
	f    *os.File
	torn int
}

// recover takes over the files of processes that have ended: what they left open is closed in our file, a checkpoint
// names their files and the heads of their sessions, and then the files become read-only. The folder is locked.
//
// It may be killed anywhere and begun anew by the next start. That reads all unsealed files of all dead processes in
// the order in which they started, ours among them, so it finds each session where we left it. Files are sealed
// oldest first and only after the checkpoint is durable, so a session's last events, or a checkpoint that knows that
// it has ended, are never in sealed files only while its beginning isn't. For the same reason a process doesn't
// rotate while it recovers.
func (j *Journal) recover(ctx context.Context) error {
	dead, err := j.takeLocks()
	defer func() { release(dead) }()
	if err != nil || len(dead) == 0 {
		return err
	}
	found, err := j.scan(dead)
	if err != nil {
		return err
	}
	killpoint.At("journal.recover.scanned")
	if err := j.cutTorn(dead); err != nil {
		return err
	}
	if err := j.replay(dead, found); err != nil {
		return err
	}
	for _, id := range found.order {
		if err := j.adopt(ctx, id, found.sessions[id]); err != nil {
			return err
		}
	}
	return j.vouch(ctx, dead)
}

// takeLocks locks the unsealed files of all dead processes. A process may have gone on to a new file and died after we
// listed the folder; once we have its locks nothing changes any more, so then we look again.
func (j *Journal) takeLocks() ([]deadFile, error) {
	there, err := list(j.opt.Dir)
	for err == nil {
		dead, failed := deadFiles(j.opt.Dir, there)
		if failed != nil {
			return dead, failed
		}
		var now []entry
		if now, err = list(j.opt.Dir); err == nil && complete(dead, now) {
			return dead, nil
		}
		release(dead)
		there = now
	}
	return nil, err
}

func complete(dead []deadFile, now []entry) bool {
	for _, e := range now {
		ours := slices.ContainsFunc(dead, func(d deadFile) bool { return d.group == e.group })
		if ours && e.sealed == slices.ContainsFunc(dead, func(d deadFile) bool { return d.name == e.name }) {
			return false
		}
	}
	return true
}

func release(dead []deadFile) {
	for _, d := range dead {
		d.f.Close()
	}
}

// deadFiles locks the unsealed files of each process that has ended. A live one holds the lock of at least one of its
// unsealed files, and takes that of a later one before it lets go of an earlier one; so we try them in that order.
func deadFiles(dir string, there []entry) ([]deadFile, error) {
	var dead []deadFile
	alive := ""
	for _, e := range there {
		if e.sealed || e.group == alive {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.name), os.O_RDWR, 0)
		if err != nil {
			return dead, err
		}
		free, err := tryLock(f, syscall.LOCK_EX)
		if err != nil {
			f.Close()
			return dead, err
		}
		if free {
			dead = append(dead, deadFile{entry: e, f: f})
			continue
		}
		f.Close()
		alive = e.group
		for len(dead) > 0 && dead[len(dead)-1].group == alive {
			dead[len(dead)-1].f.Close()
			dead = dead[:len(dead)-1]
		}
	}
	return dead, nil
}

// left is what dead processes left behind.
type left struct {
	sessions map[string]*session
	order    []string             // as they first appear
	spools   map[string]*leftover // by group
}

func (j *Journal) scan(dead []deadFile) (*left, error) {
	l := &left{sessions: make(map[string]*session), spools: make(map[string]*leftover)}
	for i := range dead {
		d := &dead[i]
		spool, err := l.spoolOf(j.opt.Dir, d.group)
		if err != nil {
			return nil, err
		}
		in := newLines(d.f)
		for {
			at := in.offset
			line, err := in.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.Is(err, errTooLong) {
				return nil, err
			}
			// A line that is no event is no reason not to start; Verify names it.
			if e, err := event.ParseLine(line); err == nil {
				l.take(e)
				spool.seen(d.rotation, at, e)
			}
		}
		d.size, d.torn = in.offset, int(in.torn)
		spool.ends(d.rotation, d.size)
	}
	l.sure(dead)
	return l, nil
}

func (l *left) take(e event.Event) {
	s := l.sessions[e.Session]
	if s == nil {
		s = &session{id: e.Session}
		l.put(e.Session, s)
	}
	if e.Seq <= s.seq {
		return
	}
	var d event.Data
	switch e.Type {
	case "session.ended", "model.tool_call_requested", "mcp.call.started", "mcp.call.completed", "mcp.call.failed",
		"tool.completed", "tool.failed", "log.checkpoint":
		d, _ = event.Decode(e) // data of another shape opens and closes nothing
	}
	var hash [event.HashLen]byte
	copy(hash[:], e.Hash)
	n := note{kind: e.Type}
	if d != nil {
		n = noteOf(d)
	}
	s.advance(e.Seq, hash, n)
	if c, ok := d.(event.Checkpoint); ok {
		l.takeHeads(c)
	}
}

// takeHeads takes over what a checkpoint knows of sessions whose events we may not have read. Ended ones that don't
// appear in unsealed files have been vouched for, and are not listed again.
func (l *left) takeHeads(c event.Checkpoint) {
	for _, h := range c.Heads {
		s := l.sessions[h.Session]
		if s != nil && s.seq > h.Seq || s == nil && h.Ended {
			continue
		}
		l.put(h.Session, fromHead(h))
	}
}

func (l *left) put(id string, s *session) {
	if _, ok := l.sessions[id]; !ok {
		l.order = append(l.order, id)
	}
	l.sessions[id] = s
}

func (j *Journal) cutTorn(dead []deadFile) error {
	for _, d := range dead {
		if d.torn == 0 {
			continue
		}
		if err := d.f.Truncate(d.size); err != nil {
			return err
		}
		if j.full {
			if err := j.sync(d.f); err != nil {
				return err
			}
		}
		killpoint.At("journal.recover.cut")
	}
	return nil
}

// adopt goes on with a session of a dead process and closes what is open in it.
func (j *Journal) adopt(ctx context.Context, id string, s *session) error {
	s.changed = true
	j.w.Lock()
	j.sessions[id] = s
	j.w.Unlock()
	j.mu.Lock()
	j.known[id] = s.ended
	j.mu.Unlock()
	if s.ended {
		return nil
	}
	for _, c := range s.openCalls() {
		if c.Server != "" {
			failed := event.CallFailed{Server: c.Server, ToolCallID: c.ToolCallID, Kind: "NetworkError", Message: restarted}
			if err := j.record(ctx, id, failed); err != nil {
				return err
			}
			killpoint.At("journal.recover.call")
		}
		failed := event.ToolFailed{Tool: c.Tool, ToolCallID: c.ToolCallID, Reason: event.ReasonUsherRestarted, Message: restarted}
		if err := j.record(ctx, id, failed); err != nil {
			return err
		}
		killpoint.At("journal.recover.tool")
	}
	err := j.record(ctx, id, event.SessionEnded{Reason: event.ReasonUsherRestarted})
	killpoint.At("journal.recover.session")
	return err
}

func (j *Journal) record(ctx context.Context, id string, d event.Data) error {
	m, err := j.Append(ctx, id, d)
	if err != nil {
		return err
	}
	return j.Wait(ctx, m)
}

// vouch writes the checkpoint and then seals the files that it names.
func (j *Journal) vouch(ctx context.Context, dead []deadFile) error {
	files := make([]event.CheckpointFile, len(dead))
	for i, d := range dead {
		files[i] = event.CheckpointFile{Name: d.name, Size: d.size, Torn: d.torn}
	}
	killpoint.At("journal.recover.checkpoint.before")
	if err := j.writeCheckpoint(files); err != nil {
		return err
	}
	killpoint.At("journal.recover.checkpoint.after")
	for _, d := range dead {
		if err := d.f.Chmod(0o400); err != nil {
			return err
		}
		killpoint.At("journal.recover.sealed")
	}
	return nil
}

// writeCheckpoint writes all that is queued and then a checkpoint.
func (j *Journal) writeCheckpoint(files []event.CheckpointFile) error {
	j.w.Lock()
	defer j.w.Unlock()
	if err := j.drain(); err != nil {
		return err
	}
	if err := j.checkpoint(files); err != nil {
		return err
	}
	return j.drain()
}
