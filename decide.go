package usher

import (
	"context"
	"errors"
	"fmt"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/permission"
)

// decide checks the arguments and then lets the call in or keeps it out. Each decision is in the log with its reason.
func (s *Session) decide(ctx context.Context, c *call) error {
	if err := c.tool.Check(c.args); err != nil {
		return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error(), Hint: "Correct the arguments and call again"}
	}
	d := s.h.o.Policy().Decide(permission.Call{
		Target: c.tool.Target, Risk: c.risk, Builtin: c.tool.Builtin, Granted: s.granted(c.tool),
	})
	c.add(event.PermissionRequested{
		ToolCallID: c.id, Tool: c.name, Args: c.args, RiskAtDecision: c.risk.String(), SourcedFrom: d.SourcedFrom,
	})
	resolved := event.PermissionResolved{ToolCallID: c.id, Decision: "deny", Actor: d.Actor, SourcedFrom: d.SourcedFrom, Rule: pattern(d.Rule)}
	switch d.Effect {
	case permission.Allow:
		resolved.Decision = "allow"
		c.add(resolved)
		return nil
	case permission.Deny:
		c.add(resolved)
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "the rule " + where(d.Rule) + " denies it"}
	}
	return s.ask(ctx, c, d, resolved)
}

// ask waits for a person. The question is in the log before it is shown.
func (s *Session) ask(ctx context.Context, c *call, d permission.Decision, resolved event.PermissionResolved) error {
	if _, err := c.flush(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.h.ctx, cancel)()
	answer, err := s.asker().Ask(ctx, permission.Question{
		ToolCallID: c.id, Session: s.id, Client: s.o.Client, Target: c.tool.Target, Title: c.tool.Def.Description,
		Args: c.args, Risk: c.risk, Rule: d.Rule,
	})
	if err == nil {
		resolved.Actor, resolved.Via, resolved.Principal = "user", answer.Via, answer.Principal
		resolved.SourcedFrom = "user_allow_once"
	}
	switch {
	case errors.Is(err, permission.ErrNobody):
		c.add(resolved)
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "its risk is " + c.risk.String(), Hint: allowHint(c)}
	case errors.Is(err, context.Canceled):
		c.add(resolved)
		return &fault.Error{Kind: fault.Cancelled, Detail: "nobody had answered yet", Cause: err}
	case err != nil:
		resolved.Actor = "timeout"
		c.add(resolved)
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "nobody answered", Hint: allowHint(c), Cause: err}
	case !answer.Allow:
		resolved.SourcedFrom = d.SourcedFrom
		c.add(resolved)
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "a person said no"}
	}
	resolved.Decision = "allow"
	s.grant(c, answer.Scope, &resolved)
	c.add(resolved)
	return nil
}

// grant keeps an answer that reaches further than this call. For a destructive call none does.
func (s *Session) grant(c *call, scope permission.Scope, resolved *event.PermissionResolved) {
	if c.risk >= permission.Destructive || scope == permission.Once {
		return
	}
	s.mu.Lock()
	s.grants[c.tool.Target] = c.tool.Hash
	s.mu.Unlock()
	resolved.SourcedFrom = "session_allow_once"
	if scope != permission.Always || s.h.o.Remember == nil {
		return
	}
	if err := s.h.o.Remember(c.tool.Target); err != nil {
		s.h.record(event.ConfigRejected{Message: "the answer \"always\" could not be kept: " + err.Error()})
		return
	}
	resolved.SourcedFrom = "always_allow"
	c.add(event.GrantChanged{What: c.name, Scope: "always", Hash: c.tool.Hash, By: resolved.Via})
}

// granted reports whether the tool, as it is defined now, was allowed for this session.
func (s *Session) granted(t *router.Tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash, ok := s.grants[t.Target]
	return ok && hash == t.Hash
}

func (s *Session) asker() permission.Asker {
	if s.o.Asker != nil {
		return s.o.Asker
	}
	return s.h.o.Asker
}

// hidden returns a function that tells the tools that a deny rule reaches.
func (s *Session) hidden() func(*router.Tool) bool {
	policy := s.h.o.Policy()
	return func(t *router.Tool) bool { return policy.Denied(t.Target) }
}

// allowHint names the command that would let the call in.
func allowHint(c *call) string {
	if c.risk >= permission.Destructive {
		return fmt.Sprintf("To allow this tool as it is defined now, run: usher allow '%s' --risk write", c.name)
	}
	if c.isLocal() {
		return fmt.Sprintf("To allow it, run: usher allow '%s'", c.name)
	}
	return fmt.Sprintf("To allow it, run: usher allow '%s' (or all of this server: usher allow 'mcp.%s.*')", c.name, c.tool.Server)
}

func pattern(r *permission.Rule) string {
	if r == nil {
		return ""
	}
	return r.Pattern
}

func where(r *permission.Rule) string {
	if r.File == "" {
		return r.Pattern
	}
	return fmt.Sprintf("%s (%s:%d)", r.Pattern, r.File, r.Line)
}
