package flow

import (
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// Facts are what is known of a tool before it is called. The zero value is a tool of a remote server of which nothing is
// known.
type Facts struct {
	permission.Target
	Builtin     bool // one of usher's own
	Local       bool // its server is a child process, which sees what is on this machine
	Credentials bool // its server's entry carries a secret: a token, headers, a secret in its environment
	Risk        permission.Risk
	Hints       mcp.Annotations
	HintsCount  bool // the user trusts what the server says of its tools
}

// TraitsOf says what a tool's results and arguments are taken for where the configuration doesn't say (see Rules).
//
// Results: all are untrusted. Private are those of usher's own tools, those of a server that has credentials, and those of
// a child process, unless the tool says that it reads the open world, in a server whose word counts.
//
// Arguments: usher's own tools carry nothing out. A tool that says that it reaches the open world is an open sink, whoever
// says so. One of a remote server, and one whose risk is network or above, is a closed one, but not
// one that destroys and, in a child process whose word counts, says that it doesn't reach the open world. Hints that don't count only
// ever add. A risk that isn't known counts as the worst.
func TraitsOf(f Facts) Traits {
	if f.Builtin {
		return Traits{Labels: both}.with(saysOpen(f))
	}
	t := Traits{Labels: Untrusted}
	if f.Credentials || f.Local && !(f.HintsCount && opens(f.Hints)) {
		t.Labels |= Private
	}
	destroysHere := f.Risk == permission.Destructive && f.HintsCount && closed(f.Hints)
	if !f.Local || (f.Risk >= permission.Network || f.Risk == 0) && !destroysHere {
		t.Sink = ClosedSink
	}
	return t.with(saysOpen(f))
}

// saysOpen is what a hint adds, whoever gives it.
func saysOpen(f Facts) Traits {
	if !opens(f.Hints) {
		return Traits{}
	}
	return Traits{Labels: Untrusted, Sink: OpenSink}
}

func closed(a mcp.Annotations) bool { return a.OpenWorld != nil && !*a.OpenWorld }

func opens(a mcp.Annotations) bool { return a.OpenWorld != nil && *a.OpenWorld }
