package usher

import (
	"context"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/permission"
)

// decide lets the call in or keeps it out. Each decision is in the log with its reason; arguments that don't fit the
// tool's schema end the call before one. A tool that is denied, and so hidden, doesn't tell what arguments it takes.
func (s *Session) decide(ctx context.Context, c *call) error {
	policy := s.h.o.Policy()
	c.policy = policy
	d, err := s.judge(c, policy)
	if err != nil {
		return err
	}
	c.said.asks = event.PermissionRequested{
		ToolCallID: c.id, Tool: c.name, Args: s.h.shown(c.args), RiskAtDecision: c.risk.String(), SourcedFrom: d.SourcedFrom,
	}
	c.add(&c.said.asks)
	resolved := event.PermissionResolved{ToolCallID: c.id, Decision: "deny", Actor: d.Actor, SourcedFrom: d.SourcedFrom, Rule: pattern(d.Rule)}
	switch d.Effect {
	case permission.Allow:
		resolved.Decision = "allow"
		c.said.resolved = resolved
		c.add(&c.said.resolved)
		return nil
	case permission.Deny:
		c.add(resolved)
		return denied(d)
	}
	return s.ask(ctx, c, policy, d, resolved)
}

// judge is the whole decision. An error says that the arguments don't fit, whatever was decided so far.
func (s *Session) judge(c *call, policy *permission.Policy) (permission.Decision, error) {
	d := policy.Decide(s.facts(c.tool, c.risk, c.args))
	if d.Effect == permission.Allow {
		c.bound = s.boundTo(c.tool.Target, d) // also where a flow asks all the same
	}
	if d.Effect != permission.Deny {
		if err := c.tool.Check(c.args); err != nil {
			return d, &fault.Error{Kind: fault.InvalidParams, Detail: err.Error(), Hint: "Correct the arguments and call again"}
		}
	}
	return s.consider(c, d), nil
}

// denied is a no that no answer can change.
func denied(d permission.Decision) error {
	if d.Rule != nil && d.Actor == "rule" {
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "the rule " + where(d.Rule) + " denies it"}
	}
	return &fault.Error{Kind: fault.PermissionDenied, Detail: d.Why}
}

// facts are all that rules may look at.
func (s *Session) facts(t *router.Tool, risk permission.Risk, args []byte) permission.Call {
	f := permission.Call{
		Target: t.Target, Model: t.Model, Definition: t.Hash, Args: args, Annotations: t.Def.Annotations, Risk: risk, Builtin: t.Builtin,
		Mode: s.mode(), Session: s.id, Kind: s.o.Kind, Client: s.o.Client, Principal: s.o.Principal, Labels: s.flow.Labels().Names(),
	}
	if server := s.h.server(t.Server); server != nil {
		f.Source, f.Entry, f.Package = server.Source, server.Entry, server.pack()
	}
	f.Granted = s.granted(&f)
	return f
}

func (s *Session) mode() permission.Mode {
	if s.o.Mode != permission.Default {
		return s.o.Mode
	}
	return s.h.o.Mode()
}

// stillSo reports what changed while a question was open: an answer is about the tool and the rules that were shown.
func (s *Session) stillSo(c *call, asked *permission.Question) error {
	now, err := s.h.router.Table().Resolve(c.tool.Model, nil)
	if err != nil || now.Target != c.tool.Target || now.Hash != c.tool.Hash {
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "the tool changed while the question was open", Hint: "Call again"}
	}
	f := s.facts(now, c.risk, c.args)
	switch {
	case f.Entry != asked.Entry || f.Package != asked.Package && asked.Package != "":
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "its server changed while the question was open", Hint: "Call again"}
	case s.h.o.Policy().Decide(f).Effect == permission.Deny:
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "a rule denies it since the question was asked"}
	}
	return nil
}

// stillAllowed refuses a call that the rules have come to deny while it waited for its server.
func (c *call) stillAllowed() error {
	now := c.s.h.o.Policy()
	if now == c.policy {
		return nil
	}
	if d := now.Decide(c.s.facts(c.tool, c.risk, c.args)); d.Effect == permission.Deny {
		return denied(d)
	}
	c.policy = now
	return nil
}

// hidden returns a function that tells the tools that a deny rule reaches.
func (s *Session) hidden() func(*router.Tool) bool {
	policy := s.h.o.Policy()
	return func(t *router.Tool) bool { return policy.Denied(t.Target, t.Model) }
}

// Denied and allowed tools as a listing shows them; what a rule says of arguments isn't known yet.
func (s *Session) outlook(policy *permission.Policy, t *router.Tool, risk permission.Risk) permission.Decision {
	return policy.Outlook(s.facts(t, risk, nil))
}
