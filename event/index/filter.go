package index

import (
	"slices"

	"github.com/usher-mcp/usher/event"
)

// mostCalls bounds what memory keeps of calls.
const mostCalls = 1 << 18

// memory is what earlier events say of later ones.
type memory struct {
	hosts   map[string]bool // sessions of kind host
	servers []string        // that events name
	calls   map[callOf]string
}

type callOf struct {
	session string
	call    int64 // digest
}

func newMemory() *memory {
	return &memory{hosts: make(map[string]bool), calls: make(map[callOf]string)}
}

// learn takes in e and completes what it is about: an event of a call that doesn't name the tool is about the call's.
func (m *memory) learn(e event.Event) about {
	a := aboutOf(e)
	if startsHost(e) {
		m.hosts[e.Session] = true
	}
	m.named(a.server)
	of := callOf{e.Session, digest(a.call)}
	switch {
	case a.call == "":
	case a.tool == "":
		a.tool = m.calls[of]
	default:
		if len(m.calls) >= mostCalls {
			clear(m.calls)
		}
		m.calls[of] = a.tool
	}
	return a
}

// filter tells what a query chooses where there is no index.
type filter struct {
	Query
	*memory
	text *needle
}

func (q Query) filter(m *memory) *filter { return &filter{q, m, newNeedle(q.Text)} }

// wants must be asked for all events, in order.
func (f *filter) wants(e event.Event) bool {
	a := f.learn(e)
	return f.kind(e.Type) && f.time(e.Time) && f.session(e.Session, f.hosts[e.Session]) &&
		(f.Call == "" || f.Call == a.call) &&
		(f.Tool == "" || a.tool != "" && sameTool(f.Tool, a.tool)) &&
		(f.Server == "" || f.Server == a.server || ofServer(a.tool, f.Server, f.servers)) &&
		f.text.in(e)
}

func (m *memory) named(server string) {
	if server != "" && !slices.Contains(m.servers, server) {
		m.servers = append(m.servers, server)
	}
}
