package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/usher-mcp/usher/event"
)

// Filter chooses events. Its zero value chooses all.
type Filter struct {
	Session string // an id, or "host": all sessions of kind host
	Type    string // a type, or a beginning and "*", such as "mcp.call.*"
}

// Read yields the events of all files of dir that f chooses, file after file in the order in which their processes
// started, each file in its own order. Processes that ran at the same time follow one another; Timeline
// interleaves them. A line that is no event is yielded as an error that names file and line, and reading goes on; so is a
// file that can't be read. The unfinished last line of a file that is still open to a writer is left out. Hashes are
// not compared: see Verify. An event's Data is the receiver's to keep.
func Read(dir string, f Filter) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		entries, err := settled(dir)
		if err != nil {
			yield(event.Event{}, fmt.Errorf("read the event log: %w", err))
			return
		}
		r := reader{filter: f, hosts: make(map[string]bool), yield: yield}
		for _, e := range entries {
			if !r.file(dir, e) {
				return
			}
		}
	}
}

type reader struct {
	filter Filter
	hosts  map[string]bool
	yield  func(event.Event, error) bool
}

// file reports whether to go on.
func (r *reader) file(dir string, e entry) bool {
	f, err := os.Open(filepath.Join(dir, e.name))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return r.yield(event.Event{}, err)
	}
	defer f.Close()
	in := newLines(f)
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return in.torn == 0 || !e.sealed || r.bad(e, in.number, errTorn)
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return r.yield(event.Event{}, err)
		}
		var ev event.Event
		if err == nil {
			ev, err = event.ParseLine(line)
		}
		if err != nil {
			if !r.bad(e, in.number, err) {
				return false
			}
			continue
		}
		if r.wants(ev) {
			ev.Data = append([]byte(nil), ev.Data...)
			if !r.yield(ev, nil) {
				return false
			}
		}
	}
}

var errTorn = errors.New("the last line is cut off")

func (r *reader) bad(e entry, line int, err error) bool {
	return r.yield(event.Event{}, fmt.Errorf("%s:%d: %w", e.name, line, err))
}

func (r *reader) wants(e event.Event) bool {
	if e.Type == "session.started" {
		if d, _ := event.Decode(e); d != nil && d.(event.SessionStarted).Kind == "host" {
			r.hosts[e.Session] = true
		}
	}
	if s := r.filter.Session; s == "host" && !r.hosts[e.Session] || s != "" && s != "host" && s != e.Session {
		return false
	}
	prefix, wild := strings.CutSuffix(r.filter.Type, "*")
	return r.filter.Type == "" || e.Type == r.filter.Type || wild && strings.HasPrefix(e.Type, prefix)
}
