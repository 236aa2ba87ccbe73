package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/killpoint"
)

// spoolOf reads what a dead process left in its spool; nil if it had none.
func (l *left) spoolOf(dir, group string) (*leftover, error) {
	if s, ok := l.spools[group]; ok {
		return s, nil
	}
	s, err := readSpool(filepath.Join(dir, spoolName(group)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.spools[group] = nil
	case err != nil:
		return nil, err
	default:
		l.spools[group] = &s
	}
	return l.spools[group], nil
}

// seen counts an event that is in the files although the spool doesn't say so yet: the process died in between.
func (l *leftover) seen(rotation int, at int64, e event.Event) {
	if l != nil && e.Type != "log.checkpoint" && (rotation > l.rotation || rotation == l.rotation && at >= l.size) {
		l.mark++
	}
}

// ends looks whether the files are as long as the spool says. They aren't where the machine crashed: then nobody knows
// what was between their end and the first record, and a chain without a gap would hide that.
func (l *leftover) ends(rotation int, size int64) {
	if l != nil && rotation == l.rotation && size < l.size {
		l.records = nil
	}
}

// sure drops the records where the file that the spool names as the last one is finished or gone: then the spool is older
// than that, as after a crash of the machine, and what it holds is in files that aren't read any more.
func (l *left) sure(dead []deadFile) {
	for group, spool := range l.spools {
		named := func(d deadFile) bool { return d.group == group && d.rotation == spool.rotation }
		if spool != nil && !slices.ContainsFunc(dead, named) {
			spool.records = nil
		}
	}
}

// replay brings into the files of dead processes what they had only in their spools. It may be killed anywhere: the
// next start counts what is in the files already.
func (j *Journal) replay(dead []deadFile, found *left) error {
	for i := range dead {
		d := &dead[i]
		if i+1 < len(dead) && dead[i+1].group == d.group {
			continue // the last file of each
		}
		spool := found.spools[d.group]
		if spool == nil {
			continue
		}
		lines := found.continued(spool)
		if err := j.extend(d, lines); err != nil {
			return err
		}
		killpoint.At("journal.recover.replayed")
		if err := os.Remove(filepath.Join(j.opt.Dir, spoolName(d.group))); err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) extend(d *deadFile, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	half := 0
	if killpoint.Armed("journal.recover.half") {
		half = len(lines) / 2
		if _, err := d.f.WriteAt(lines[:half], d.size); err != nil {
			return err
		}
		killpoint.At("journal.recover.half")
	}
	if _, err := d.f.WriteAt(lines[half:], d.size+int64(half)); err != nil {
		return errors.Join(err, d.f.Truncate(d.size))
	}
	if j.full {
		if err := j.sync(d.f); err != nil {
			return err
		}
	}
	d.size += int64(len(lines))
	return nil
}

// continued makes the lines of the records that are not in the files.
func (l *left) continued(spool *leftover) (lines []byte) {
	for _, r := range spool.records {
		if r.mark <= spool.mark {
			continue
		}
		s := l.sessions[string(r.session)]
		if s == nil && string(r.kind) == "session.started" {
			s = &session{id: string(r.session)}
			l.put(s.id, s)
		}
		if r.mark != spool.mark+1 || s == nil || s.ended {
			break // no process wrote that: the spool was changed, or is from a machine that crashed
		}
		spool.mark++
		head, start := *s, len(lines)
		lines = head.line(lines, r.stamp, note{kind: string(r.kind)}, r.data)
		e, err := event.ParseLine(lines[start : len(lines)-1])
		if err != nil {
			return lines[:start]
		}
		l.take(e)
	}
	return lines
}

// dropOrphans removes spools whose files are finished or gone. The folder is locked.
func (j *Journal) dropOrphans() error {
	there, err := settled(j.opt.Dir) // a living process may go on to its next file meanwhile
	if err != nil {
		return err
	}
	alive := map[string]bool{j.group: true}
	for _, e := range there {
		if !e.sealed {
			alive[e.group] = true
		}
	}
	names, err := filepath.Glob(filepath.Join(j.opt.Dir, "*.spool"))
	for _, name := range names {
		if !alive[strings.TrimSuffix(filepath.Base(name), ".spool")] {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}
