package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/permission"
)

var zero time.Time

// Flow is a call that could carry private data out, in a session where a stranger's words could be what wants that.
type Flow struct {
	Sink permission.Target
	Open bool // the sink may reach anybody
	// Private are the sources of what it could carry out and that wasn't accepted for this sink, Untrusted those of what
	// may have asked for it. Both are sorted.
	Private, Untrusted []string
}

// Check tells what a call to the tool could carry out that nobody has accepted yet in this session; nil: nothing. It is
// about what the caller knew when it made the call, so a call whose question took long needs no second Check.
func (s *Session) Check(tool permission.Target, sink Sink) *Flow {
	if sink == NoSink {
		return nil
	}
	if s.Labels() != both {
		return nil
	}
	return s.flow(tool, sink)
}

func (s *Session) flow(tool permission.Target, sink Sink) *Flow {
	f := &Flow{Sink: tool, Open: sink == OpenSink}
	own := Server(tool.Server).source()
	s.mu.Lock()
	for _, m := range s.marks {
		if m.Labels.Has(Untrusted) {
			f.Untrusted = append(f.Untrusted, m.Source)
		}
		_, accepted := s.accepted[pair{m.Source, tool}]
		if m.Labels.Has(Private) && !accepted && (f.Open || m.Source != own) {
			f.Private = append(f.Private, m.Source)
		}
	}
	s.mu.Unlock()
	if len(f.Private) == 0 {
		return nil
	}
	slices.Sort(f.Private)
	slices.Sort(f.Untrusted)
	return f
}

// Accepted says that a person let the flow happen: the session doesn't ask again for what it names. What nobody can name
// asks each time.
func (s *Session) Accepted(f *Flow) {
	if f == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, source := range f.Private {
		if source != Unknown {
			s.accepted[pair{source, f.Sink}] = struct{}{}
		}
	}
}

// Why says in a sentence what could happen.
func (f *Flow) Why() string {
	reach := "reaches beyond this machine"
	if f.Open {
		reach = "can reach anybody"
	}
	return fmt.Sprintf("this session holds private data from %s and content by strangers from %s, and %s %s: it could carry that data out",
		list(f.Private), list(f.Untrusted), f.Sink.Canonical(), reach)
}

const maxNamed = 5 // sources in a sentence

func list(sources []string) string {
	named := make([]string, 0, maxNamed)
	for _, s := range sources[:min(len(sources), maxNamed)] {
		switch s {
		case Local:
			s = "local files"
		case Unknown:
			s = "something that can't be told, since the ledger can't be read"
		}
		named = append(named, s)
	}
	last := len(named) - 1
	if more := len(sources) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(named, ", "), more)
	}
	if last < 1 {
		return strings.Join(named, "")
	}
	return strings.Join(named[:last], ", ") + " and " + named[last]
}
