package flow

import (
	"fmt"
	"strings"
)

// Labels is a set of what can be said of data.
type Labels uint8

// The labels. Both together make a session one whose calls to sinks are looked at.
const (
	Untrusted Labels = 1 << iota // somebody else wrote it
	Private                      // it isn't everybody's

	both = Untrusted | Private
)

// Has reports whether all of o are in l.
func (l Labels) Has(o Labels) bool { return l&o == o }

var labelNames = [...]string{"", "untrusted", "private", "untrusted private"}

// String returns the names, with a space between them.
func (l Labels) String() string { return labelNames[l&both] }

var labelLists = [...][]string{nil, {"untrusted"}, {"private"}, {"untrusted", "private"}}

// Names returns the labels as rules and events name them. The slice is shared: it must not be changed.
func (l Labels) Names() []string { return labelLists[l&both] }

// Sink says how far a tool may carry what it is given.
type Sink uint8

// The sinks.
const (
	// NoSink is a tool that keeps to this machine.
	NoSink Sink = iota
	// ClosedSink is one that may reach the place that its own server stands for: it carries out what other servers said.
	ClosedSink
	// OpenSink is one that may reach anybody: it carries out what its own server said, too.
	OpenSink
)

var sinkNames = [...]string{"none", "closed", "open"}

// String names the sink.
func (s Sink) String() string {
	if int(s) < len(sinkNames) {
		return sinkNames[s]
	}
	return fmt.Sprintf("sink(%d)", s)
}

// Traits are what is said of one tool.
type Traits struct {
	Labels Labels // of its results, and of its failures
	Sink   Sink   // of its arguments
}

// with is the union: neither of both loses anything.
func (t Traits) with(o Traits) Traits {
	return Traits{Labels: t.Labels | o.Labels, Sink: max(t.Sink, o.Sink)}
}

// ParseTraits reads labels as a configuration names them: untrusted, private, and egress for an open sink.
func ParseTraits(names []string) (Traits, error) {
	var t Traits
	for _, name := range names {
		switch strings.ToLower(name) {
		case "untrusted":
			t.Labels |= Untrusted
		case "private":
			t.Labels |= Private
		case "egress":
			t.Sink = OpenSink
		default:
			return t, fmt.Errorf("unknown label %q: write untrusted, private or egress", name)
		}
	}
	return t, nil
}
