package index

import (
	"iter"
	"time"

	"github.com/usher-mcp/usher/event/journal"
)

// places are how far each file has been read, by name.
type places map[string]journal.Place

// stream is the files of one process and the line that comes next.
type stream struct {
	next func() (placed, error, bool)
	stop func()
	placed
}

// placed is a line with its place in the order of time.
type placed struct {
	journal.Line
	file string
	at   time.Time
}

// clock gives the events of one process their place in time: that of the event, but never before an earlier line of the
// process, or its start. A checkpoint stands before events that are older than it, and a line that is no event has no
// time, so both come right after what was before them.
type clock struct{ at time.Time }

func (c *clock) place(l journal.Line) time.Time {
	if l.Err == nil && l.Event.Type != "log.checkpoint" && l.Event.Time.After(c.at) {
		c.at = l.Event.Time
	}
	return c.at
}

// merged yields the lines of files after from, and notes in from what it has yielded. The order is that of
// journal.Timeline. A process's files are opened when its time comes.
func merged(dir string, files []journal.File, from places) iter.Seq2[journal.Line, error] {
	return func(yield func(journal.Line, error) bool) {
		waiting := processes(files)
		var running []*stream
		defer func() {
			for _, s := range running {
				s.stop()
			}
		}()
		for {
			first := earliest(running)
			if len(waiting) > 0 && (first < 0 || !waiting[0][0].Began.After(running[first].at)) {
				s := open(dir, waiting[0], from)
				waiting = waiting[1:]
				more, err := s.advance()
				if err != nil {
					yield(journal.Line{}, err)
					return
				}
				if more {
					running = append(running, s)
				}
				continue
			}
			if first < 0 {
				return
			}
			s := running[first]
			from[s.file] = s.Next
			if !yield(s.Line, nil) {
				return
			}
			more, err := s.advance()
			if err != nil {
				yield(journal.Line{}, err)
				return
			}
			if !more {
				running = append(running[:first], running[first+1:]...)
			}
		}
	}
}

// earliest is the one whose line comes next; of several the one that started first, which stands first.
func earliest(running []*stream) int {
	first := -1
	for i, s := range running {
		if first < 0 || s.at.Before(running[first].at) {
			first = i
		}
	}
	return first
}

func open(dir string, files []journal.File, from places) *stream {
	s := new(stream)
	c := clock{files[0].Began}
	s.next, s.stop = iter.Pull2(func(yield func(placed, error) bool) {
		for _, f := range files {
			for l, err := range journal.Lines(dir, f, from[f.Name]) {
				if !yield(placed{l, f.Name, c.place(l)}, err) {
					return
				}
			}
		}
	})
	return s
}

// advance takes the next line. Without one, s is stopped.
func (s *stream) advance() (more bool, err error) {
	if s.placed, err, more = s.next(); !more || err != nil {
		s.stop()
		return false, err
	}
	return true, nil
}

// processes are the files of each process together.
func processes(files []journal.File) (all [][]journal.File) {
	for _, f := range files {
		if n := len(all); n > 0 && all[n-1][0].Process == f.Process {
			all[n-1] = append(all[n-1], f)
			continue
		}
		all = append(all, []journal.File{f})
	}
	return all
}
