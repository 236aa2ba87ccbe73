package usher

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/upstream"
)

// ServerStatus is how one server fares.
type ServerStatus struct {
	Name, Kind string
	// State is idle, starting, up, closed, or:
	// restarting: a process that ended is started again; reconnecting: a remote server was lost and is dialled again;
	// unavailable: a remote server that isn't tried any more until it is needed; failed: a process that was given up.
	State    string
	Err      error     // why it isn't up, or what was wrong the last time
	Restarts int       // connections after the first
	Since    time.Time // up since then; zero: it isn't up
	NextTry  time.Time // when it is dialled again; zero: nobody waits for that
	Breaker  string    // closed, open or half-open; empty: there is none
	// PoolSize connections of at most PoolMax serve calls, PoolBusy of them now; all 0 where calls share one.
	PoolSize, PoolBusy, PoolMax int
	Owned                       int // connections that belong to single sessions
	Era                         string
	Revision                    string
	Why                         string // how the era was found
	Fallback                    bool   // it is reached by Server.Fallback; Why says the reason
	ServerInfo                  json.RawMessage
	// Capabilities is what it declares: an object, or nil.
	Capabilities json.RawMessage
	Steps        []Step // of its last start, in order; also of one that failed
	Tools        int    // that agents may be offered
	Resources    int
	Prompts      int
	Cached       bool          // its tools are from an earlier run, and not confirmed yet
	Dropped      []DroppedTool // what its last list brought and can't be offered; the first 100
	Took         time.Duration // what its last start took
	PID          int
	Stderr       string // the last lines that it wrote there
	StrayLines   int
	StraySample  string
}

// Fails reports whether the server can't be reached now.
func (s ServerStatus) Fails() bool {
	switch upstream.State(s.State) {
	case upstream.Restarting, upstream.Reconnecting, upstream.Unavailable, upstream.Failed, upstream.Closed:
		return true
	}
	return false
}

// Step is one thing that was done to reach a server.
type Step struct {
	What   string // a method of the protocol, or "connect"
	Took   time.Duration
	Result string // "ok", or what went wrong, in one line
}

// DroppedTool is a tool that a server lists and that can't be offered.
type DroppedTool struct{ Name, Reason string }

// Servers tells how each server fares, sorted by name.
func (h *Host) Servers() []ServerStatus {
	count := map[string]int{}
	for _, t := range h.router.Table().Tools() {
		count[t.Server]++
	}
	var all []ServerStatus
	for _, s := range h.servers.all() {
		all = append(all, h.statusOf(s, count[s.Name]))
	}
	slices.SortFunc(all, func(a, b ServerStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (h *Host) statusOf(s *hosted, tools int) ServerStatus {
	st, known := s.up.Status(), s.shelf.Entry()
	status := ServerStatus{
		Name: s.Name, Kind: s.Kind, State: string(st.State), Err: h.redactError(st.Err), Restarts: st.Restarts, Since: st.Since,
		NextTry: st.NextTry, Breaker: st.Breaker, PoolSize: st.PoolSize, PoolBusy: st.PoolBusy, PoolMax: st.PoolMax, Owned: st.Owned,
		Era: st.Info.Era.String(), Revision: st.Info.Revision,
		Why: st.Info.Why, Fallback: st.Info.Fallback, ServerInfo: st.Info.ServerInfo, Capabilities: st.Info.Capabilities, Tools: tools,
		Resources: len(known.Resources.Items), Prompts: len(known.Prompts.Items), Cached: known.Tools.Cached,
		Took: st.Took, PID: st.PID, Stderr: h.redact(st.Stderr), StrayLines: st.StrayLines, StraySample: h.redact(st.StraySample),
	}
	for _, step := range st.Info.Steps {
		status.Steps = append(status.Steps, Step{step.What, step.Took, h.redact(step.Result)})
	}
	for _, d := range st.Dropped {
		status.Dropped = append(status.Dropped, DroppedTool{h.redact(d.Name), h.redact(d.Reason)})
	}
	return status
}
