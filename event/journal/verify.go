package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/usher-mcp/usher/event"
)

// Verify reads all files of dir and reports where they are not as they were written. Processes may go on writing
// meanwhile: it looks at what was there when it began. Its memory grows with the number of sessions, not of events.
// docs/events.md says what the files alone can't show. The error is that dir or a file in it can't be read.
func Verify(dir string) (Report, error) {
	v := verifier{sessions: make(map[string]*chain), present: make(map[string]entry), named: make(map[string]bool)}
	entries, alive, err := snapshot(dir)
	if err != nil {
		return v.report, fmt.Errorf("verify the event log: %w", err)
	}
	for _, e := range entries {
		v.present[e.name] = e
	}
	for _, e := range entries {
		if err := v.file(dir, e, alive[e.group]); err != nil {
			return v.report, fmt.Errorf("verify the event log: %w", err)
		}
	}
	v.filesAtEnd(entries)
	v.sessionsAtEnd(alive)
	v.spoolsAtEnd(dir, alive)
	v.report.Files, v.report.Sessions = len(entries), len(v.sessions)
	return v.report, nil
}

// snapshot lists the files, and which processes still write. It holds the folder lock, so that a start in the same
// folder doesn't take our look at a file for the writer's lock.
func snapshot(dir string) ([]entry, map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lock, err := sharedFolderLock(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if lock != nil {
		defer lock.Close()
	}
	entries, err := settled(dir)
	if err != nil {
		return nil, nil, err
	}
	alive := make(map[string]bool)
	for _, e := range entries {
		if e.sealed || alive[e.group] {
			continue
		}
		if alive[e.group], err = isLocked(filepath.Join(dir, e.name)); err != nil {
			return nil, nil, err
		}
	}
	return entries, alive, nil
}

type verifier struct {
	report   Report
	sessions map[string]*chain
	present  map[string]entry
	named    map[string]bool // by checkpoints
	at       string          // where we are
	number   int
}

func (v *verifier) problem(kind ProblemKind, session string, seq int64, format string, args ...any) {
	v.add(Problem{File: v.at, Line: v.number, Session: session, Seq: seq, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (v *verifier) add(p Problem) {
	if len(v.report.Problems) < MaxProblems {
		v.report.Problems = append(v.report.Problems, p)
	}
}

func (v *verifier) file(dir string, e entry, alive bool) error {
	f, err := os.Open(filepath.Join(dir, e.name))
	if err != nil {
		return err
	}
	defer f.Close()
	v.at = e.name
	in := newLines(io.LimitReader(f, e.size))
	for {
		line, err := in.next()
		v.number = in.number
		switch {
		case errors.Is(err, io.EOF):
			v.torn(in.torn, e, alive)
			return nil
		case errors.Is(err, errTooLong):
			v.problem(ProblemLine, "", 0, "%v", err)
		case err != nil:
			return err
		default:
			v.event(line, e)
		}
	}
}

func (v *verifier) torn(n int64, e entry, alive bool) {
	switch {
	case n == 0:
	case e.sealed:
		v.problem(ProblemCut, "", 0, "the file is finished, but its last line is cut off")
	case !alive:
		v.report.Notes = append(v.report.Notes, fmt.Sprintf(
			"%s:%d: the process ended while it wrote this line; the next start removes its %d bytes", e.name, v.number, n))
	}
}

func (v *verifier) event(line []byte, file entry) {
	e, err := event.ParseLine(line)
	if err != nil {
		v.problem(ProblemLine, "", 0, "the line is no event: %v", err)
		return
	}
	v.report.Events++
	c := v.sessions[e.Session]
	sum, _ := event.LineHash(line)
	if string(sum[:]) != e.Hash {
		v.problem(ProblemHash, e.Session, e.Seq, "the line doesn't match its hash: a byte of it was changed")
		if c == nil && e.Seq == 1 {
			c = new(chain)
			v.sessions[e.Session] = c
		}
		if c != nil && e.Seq == c.seq+1 {
			c.advance(e, file.group, string(sum[:]))
		}
		return
	}
	if c == nil {
		c = new(chain)
		v.sessions[e.Session] = c
	}
	v.link(c, e, file.group)
	if e.Type == "log.checkpoint" {
		v.checkpoint(e)
	}
}

func (v *verifier) checkpoint(e event.Event) {
	d, err := event.Decode(e)
	if err != nil {
		v.problem(ProblemLine, e.Session, e.Seq, "the checkpoint can't be read: %v", err)
		return
	}
	for _, f := range d.(event.Checkpoint).Files {
		v.checkFile(e, f)
	}
	for _, h := range d.(event.Checkpoint).Heads {
		v.checkHead(h)
	}
}

func (v *verifier) checkFile(e event.Event, f event.CheckpointFile) {
	there, ok := v.present[f.Name]
	switch {
	case v.named[f.Name]:
	case !ok:
		v.problem(ProblemDropped, e.Session, e.Seq, "the file %s is missing, which this checkpoint names", f.Name)
	case there.size < f.Size:
		v.add(Problem{File: f.Name, Kind: ProblemCut,
			Text: fmt.Sprintf("%d bytes at the end are missing: it has %d, the checkpoint says %d", f.Size-there.size, there.size, f.Size)})
	case there.size > f.Size:
		v.add(Problem{File: f.Name, Kind: ProblemGrown,
			Text: fmt.Sprintf("%d bytes were added after it was finished: it has %d, the checkpoint says %d", there.size-f.Size, there.size, f.Size)})
	}
	v.named[f.Name] = true
}

// filesAtEnd looks for files that must have been there: earlier ones of the same process, and later ones whose
// checkpoint was durable before a file became read-only.
func (v *verifier) filesAtEnd(entries []entry) {
	group, next := "", 0
	for _, e := range entries {
		if e.group != group {
			group, next = e.group, 0
		}
		for ; next < e.rotation; next++ {
			if name := fmt.Sprintf("%s-%04d.jsonl", group, next); !v.named[name] {
				v.add(Problem{File: name, Kind: ProblemDropped, Text: "the file is missing; later ones of its process are there"})
			}
		}
		next = e.rotation + 1
		if e.sealed && !v.named[e.name] {
			v.add(Problem{File: e.name, Kind: ProblemDropped,
				Text: "the file is finished, but no checkpoint names it: a later file is missing or was cut off"})
		}
	}
}

func (v *verifier) sessionsAtEnd(alive map[string]bool) {
	for _, id := range slices.Sorted(maps.Keys(v.sessions)) {
		c := v.sessions[id]
		for _, g := range c.gaps {
			if g.missing > 0 {
				v.add(g.problem(id))
			}
		}
		if !c.ended && !alive[c.group] {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf(
				"session %s has no end, and its process is gone; the next start closes it", id))
		}
	}
}

// spoolsAtEnd tells of events that a killed process has promised and that aren't in the files yet.
func (v *verifier) spoolsAtEnd(dir string, alive map[string]bool) {
	for _, group := range slices.Sorted(maps.Keys(alive)) {
		if alive[group] {
			continue
		}
		l, err := readSpool(filepath.Join(dir, spoolName(group)))
		if n := l.more(); err == nil && n > 0 {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf(
				"%s: up to %d events of a process that was killed; the next start writes them into the log", spoolName(group), n))
		}
	}
}
