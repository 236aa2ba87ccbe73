package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
)

// loggedCall is a decision as the log has it.
type loggedCall struct {
	id, session string
	time        time.Time
	asked       event.PermissionRequested
	resolved    event.PermissionResolved
	reason      string // why the call failed, if it did
	started     *event.SessionStarted
}

const maxRules = 16 << 20 // bytes of a file of rules

func readRules(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRules+1))
}

// readCalls returns the decisions that q chooses, in their order. One that was never made, since its process ended, is
// left out.
func readCalls(ctx context.Context, log *index.Log, q index.Query) ([]*loggedCall, error) {
	sessions := map[string]*event.SessionStarted{}
	if err := findEach(ctx, log, index.Query{Type: event.SessionStarted{}.Type()}, func(e event.Event, s *event.SessionStarted) {
		sessions[e.Session] = s
	}); err != nil {
		return nil, err
	}
	var calls []*loggedCall
	byID := map[string]*loggedCall{}
	if err := findEach(ctx, log, of(q, event.PermissionRequested{}), func(e event.Event, r *event.PermissionRequested) {
		c := &loggedCall{id: r.ToolCallID, session: e.Session, time: e.Time, asked: *r, started: sessions[e.Session]}
		calls, byID[c.id] = append(calls, c), c
	}); err != nil {
		return nil, err
	}
	q.Until = time.Time{} // an answer may come later
	if err := findEach(ctx, log, of(q, event.PermissionResolved{}), func(_ event.Event, r *event.PermissionResolved) {
		if c := byID[r.ToolCallID]; c != nil {
			c.resolved = *r
		}
	}); err != nil {
		return nil, err
	}
	if err := findEach(ctx, log, of(q, event.ToolFailed{}), func(_ event.Event, f *event.ToolFailed) {
		if c := byID[f.ToolCallID]; c != nil {
			c.reason = f.Reason
		}
	}); err != nil {
		return nil, err
	}
	made := calls[:0]
	for _, c := range calls {
		if c.resolved.Decision != "" {
			made = append(made, c)
		}
	}
	return made, nil
}

func of(q index.Query, d event.Data) index.Query {
	q.Type = d.Type()
	return q
}

func findEach[T any](ctx context.Context, log *index.Log, q index.Query, each func(event.Event, *T)) error {
	_, err := log.Find(ctx, q, func(f index.Found) error {
		data := new(T)
		if f.Err == nil && json.Unmarshal(f.Event.Data, data) == nil {
			e := f.Event
			e.Data = nil // it isn't kept
			each(e, data)
		}
		return nil
	})
	return err
}

// was is what the rules said then; a person's answer is another thing.
func (c *loggedCall) was() permission.Effect {
	r := c.resolved
	switch {
	case r.Decision == "allow" && r.SourcedFrom == c.asked.SourcedFrom:
		return permission.Allow
	case r.Decision == "allow", r.Actor == "user", r.Actor == "timeout", c.reason == string(fault.Cancelled), c.reason == string(fault.ApprovalRequired):
		return permission.Ask // nobody had answered yet
	}
	return permission.Deny
}

// byGrant, bySession and byFlow report what decided where no rule did.
func (c *loggedCall) byGrant() bool   { return c.asked.SourcedFrom == "always_allow" }
func (c *loggedCall) bySession() bool { return c.asked.SourcedFrom == "session_allow" }

// beforeGrants reports whether what decided comes before grants are looked at, so that it isn't known whether one counted.
func (c *loggedCall) beforeGrants() bool {
	s := c.asked.SourcedFrom
	return strings.HasPrefix(s, "rule:") || s == "mode" || c.byFlow() || c.bySession()
}

// byFlow reports whether it was where data could go that decided, and not a rule.
func (c *loggedCall) byFlow() bool { return c.asked.SourcedFrom == "toxic_flow" }

var (
	redactedPart = regexp.MustCompile(`\[redacted:[0-9]+\]`)
	cutEnd       = regexp.MustCompile(`… \[[0-9]+ bytes\]"$`)
)

// arguments are those of the call, or why the log doesn't tell them.
func (c *loggedCall) arguments() (args json.RawMessage, unknown string) {
	args = bytes.TrimSpace(c.asked.Args)
	switch {
	case len(args) == 0:
		return json.RawMessage(`{}`), ""
	case args[0] == '"' && cutEnd.Match(args):
		return nil, "its arguments are cut in the log"
	case redactedPart.Match(args):
		return nil, "secrets were taken out of its arguments in the log"
	}
	return args, ""
}
