package journal

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/usher-mcp/usher/event"
)

// Timeline yields what Read yields, in the order of time across processes. The order within each process stays, and with
// it that of each session, also where its clock was set back. Files are opened when their time comes, so memory and
// open files grow with the processes that ran at once, not with the log. Where a clock was set back between two
// processes, the later one's events follow the time that its file is named by.
func Timeline(dir string, f Filter) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		entries, err := settled(dir)
		if err != nil {
			yield(event.Event{}, fmt.Errorf("read the event log: %w", err))
			return
		}
		t := timeline{dir: dir, filter: f, hosts: make(map[string]bool), waiting: groups(entries)}
		defer t.close()
		for t.open() {
			s := t.running[0]
			if !yield(s.event, s.err) {
				return
			}
			t.running = t.running[1:]
			t.advance(s)
		}
	}
}

// timeline merges the streams of processes.
type timeline struct {
	dir     string
	filter  Filter
	hosts   map[string]bool
	waiting [][]entry // processes whose time hasn't come, in the order of their start
	running []*stream // by what they have next
}

// stream is the files of one process, and what comes next of them.
type stream struct {
	next  func() (event.Event, error, bool)
	stop  func()
	event event.Event
	err   error
	at    time.Time // its place
}

// open opens each process that began before the next event, and reports whether there is one.
func (t *timeline) open() bool {
	for len(t.waiting) > 0 && (len(t.running) == 0 || !began(t.waiting[0]).After(t.running[0].at)) {
		files := t.waiting[0]
		t.waiting = t.waiting[1:]
		s := new(stream)
		s.next, s.stop = iter.Pull2(func(yield func(event.Event, error) bool) {
			r := reader{filter: t.filter, hosts: t.hosts, yield: yield}
			for _, e := range files {
				if !r.file(t.dir, e) {
					return
				}
			}
		})
		t.advance(s)
	}
	return len(t.running) > 0
}

// advance puts s in its place again. Errors have no time, so they come right after what was before them; so does a
// checkpoint, which stands before events that are older than it.
func (t *timeline) advance(s *stream) {
	var more bool
	if s.event, s.err, more = s.next(); !more {
		s.stop()
		return
	}
	if s.err == nil && s.event.Type != "log.checkpoint" {
		s.at = s.event.Time
	}
	at, _ := slices.BinarySearchFunc(t.running, s, func(other, s *stream) int {
		if !other.at.After(s.at) {
			return -1 // those of the same time that were there before stay before
		}
		return 1
	})
	t.running = slices.Insert(t.running, at, s)
}

func (t *timeline) close() {
	for _, s := range t.running {
		s.stop()
	}
}

// groups are the files of each process together.
func groups(entries []entry) (all [][]entry) {
	for _, e := range entries {
		if n := len(all); n > 0 && all[n-1][0].group == e.group {
			all[n-1] = append(all[n-1], e)
			continue
		}
		all = append(all, []entry{e})
	}
	return all
}

// began is when a process started, by the name of its files.
func began(files []entry) time.Time {
	name := files[0].name
	t, _ := time.Parse(stampFormat, name[:15]+"."+name[15:22])
	return t
}
