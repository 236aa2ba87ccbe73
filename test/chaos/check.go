package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/usher-mcp/usher/fault"
)

// Evidence is what a run left behind.
type Evidence struct {
	Servers  []ServerPlan
	Outcomes []Outcome
	Logged   map[string]*Logged        // by the id in the call's arguments
	Reached  map[string]map[string]int // server → id → how often it came there
}

// Logged is what the log says of a call.
type Logged struct {
	Requested int
	Ends      []string // "completed", or the reason of tool.failed
}

// reasons are those of tool.failed that docs/events.md names, but for guard_blocked, which nothing here can cause, and
// usher_restarted.
var reasons = []fault.Kind{
	fault.Unstable, fault.Restarted, fault.Unavailable, fault.BreakerOpen, fault.Timeout, fault.Cancelled, fault.PermissionDenied,
	fault.ApprovalRequired, fault.NotFound, fault.InvalidParams, fault.LogUnavailable, fault.Auth, fault.ServerError, fault.SessionExpired,
	fault.Protocol, fault.TooLarge,
}

// slack is how much longer than its deadline a call may take on a slow machine.
const slack = 2 * time.Second

// Check returns what is not as promised.
func Check(e Evidence) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	known := map[string]bool{}
	for _, o := range e.Outcomes {
		if known[o.ID] {
			say("%s ended twice", o.ID)
		}
		known[o.ID] = true
		for _, p := range e.ofCall(o) {
			say("%s (%s of %s, %v): %s", o.ID, o.Tool, o.Server, o.Ended.Sub(o.Began).Round(time.Millisecond), p)
		}
	}
	for id := range e.Logged {
		if !known[id] {
			say("%s is in the log, and nobody made it", id)
		}
	}
	problems = append(problems, e.ranTwice(known)...)
	slices.Sort(problems)
	return problems
}

func (e Evidence) ofCall(o Outcome) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if o.Refused {
		if e.Logged[o.ID] != nil || e.Reached[o.Server][o.ID] > 0 || !o.Closing {
			say("it was refused, and yet it began, or its session was not closed")
		}
		return problems
	}
	end := "completed"
	if o.Kind != "" {
		end = string(o.Kind)
	}
	switch l := e.Logged[o.ID]; {
	case l == nil:
		say("the log has nothing of it")
	case l.Requested != 1 || len(l.Ends) != 1:
		say("the log has %d requests and the ends %q", l.Requested, l.Ends)
	case l.Ends[0] != end:
		say("its caller got %s, the log says %s", end, l.Ends[0])
	}
	switch {
	case o.Kind != "" && !slices.Contains(reasons, o.Kind):
		say("%s is no reason: %s", o.Kind, o.Text)
	case o.Kind == "" && o.Text != o.Server+" did "+o.ID:
		say("it was answered with %q", o.Text)
	case o.Kind == "" && e.Reached[o.Server][o.ID] == 0:
		say("it was answered, and never reached the server")
	}
	if o.Server == healthy && o.Kind != "" && !o.Closing {
		say("the healthy server failed: %s", o.Text)
	}
	if late := o.Ended.Sub(o.Began) - o.Deadline; late > slack {
		say("it ended %v after its deadline", late)
	}
	return problems
}

// ranTwice finds what reached a server more than once although nobody said that it may (C4), or the wrong server.
func (e Evidence) ranTwice(known map[string]bool) (problems []string) {
	where, again := map[string]string{}, map[string]bool{}
	for _, s := range e.Servers {
		again[s.Name] = s.Idempotent
	}
	reads := map[string]bool{}
	for _, o := range e.Outcomes {
		where[o.ID] = o.Server
		reads[o.ID] = o.Tool == "read"
	}
	for server, ids := range e.Reached {
		for id, n := range ids {
			switch {
			case !known[id] || where[id] != server:
				problems = append(problems, fmt.Sprintf("%s reached %s, which it was not meant for", id, server))
			case n > 1 && !(again[server] && reads[id]):
				problems = append(problems, fmt.Sprintf("%s ran %d times at %s", id, n, server))
			}
		}
	}
	return problems
}
