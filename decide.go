package usher

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// decide lets the call in or keeps it out. Each decision is in the log with its reason; arguments that don't fit the
// tool's schema end the call before one. A tool that is denied, and so hidden, doesn't tell what arguments it takes.
func (s *Session) decide(ctx context.Context, c *call) error {
	d := s.decision(c.tool, c.risk)
	if d.Effect != permission.Deny {
		if err := c.tool.Check(c.args); err != nil {
			return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error(), Hint: "Correct the arguments and call again"}
		}
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
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "the rule " + where(d.Rule) + " denies it"}
	}
	return s.ask(ctx, c, d, resolved)
}

func (s *Session) decision(t *router.Tool, risk permission.Risk) permission.Decision {
	return s.h.o.Policy().Decide(permission.Call{
		Target: t.Target, Model: t.Model, Risk: risk, Builtin: t.Builtin, Granted: s.granted(t),
	})
}

// stillSo reports what changed while a question was open: an answer is about the tool and the rules that were shown.
func (s *Session) stillSo(c *call) error {
	now, err := s.h.router.Table().Resolve(c.tool.Model, nil)
	switch {
	case err != nil || now.Target != c.tool.Target || now.Hash != c.tool.Hash:
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "the tool changed while the question was open", Hint: "Call again"}
	case s.decision(now, c.risk).Effect == permission.Deny:
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "a rule denies it since the question was asked"}
	}
	return nil
}

// ask waits for a person. The question is in the log before it is shown.
func (s *Session) ask(ctx context.Context, c *call, d permission.Decision, resolved event.PermissionResolved) error {
	if _, err := c.flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.h.ctx, cancel)()
	answer, err := s.question(ctx, permission.Question{
		ToolCallID: c.id, Session: s.id, Client: s.o.Client, Target: c.tool.Target, Title: mcp.Cut(c.tool.Def.Description, router.MaxDescription),
		Args: c.args, Risk: c.risk, Rule: d.Rule,
	})
	if err == nil {
		resolved.Actor, resolved.Via, resolved.Principal = "user", answer.Via, answer.Principal
		resolved.SourcedFrom = "user_allow_once"
	}
	switch {
	case errors.Is(err, permission.ErrNobody):
		c.add(resolved)
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: askedBecause(c, d.Rule), Hint: allowHint(c, d.Rule)}
	case errors.Is(err, context.Canceled):
		c.add(resolved)
		return &fault.Error{Kind: fault.Cancelled, Detail: "nobody had answered yet", Cause: err}
	case err != nil:
		resolved.Actor = "timeout"
		c.add(resolved)
		return &fault.Error{Kind: fault.ApprovalRequired, Detail: "nobody answered", Hint: allowHint(c, d.Rule), Cause: err}
	case !answer.Allow:
		resolved.SourcedFrom = d.SourcedFrom
		c.add(resolved)
		return &fault.Error{Kind: fault.PermissionDenied, Detail: "a person said no"}
	}
	if err := s.stillSo(c); err != nil {
		resolved.SourcedFrom = d.SourcedFrom
		c.add(resolved)
		return err
	}
	resolved.Decision = "allow"
	s.grant(c, answer.Scope, &resolved)
	c.add(resolved)
	return nil
}

// question returns with the answer or with the end of ctx, whether or not the Asker heeds that.
func (s *Session) question(ctx context.Context, q permission.Question) (permission.Answer, error) {
	type reply struct {
		answer permission.Answer
		err    error
	}
	replied := make(chan reply, 1)
	go func() {
		answer, err := s.asker().Ask(ctx, q)
		replied <- reply{answer, err}
	}()
	select {
	case r := <-replied:
		return r.answer, r.err
	case <-ctx.Done():
		return permission.Answer{}, ctx.Err()
	}
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
	c.add(event.GrantChanged{What: c.name, Scope: "always", By: resolved.Via}) // a rule: not bound to the definition
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
	return func(t *router.Tool) bool { return policy.Denied(t.Target, t.Model) }
}

// allowHint names the command that would let the call in, and says what it would mean.
func allowHint(c *call, r *permission.Rule) string {
	usher, name := c.s.h.o.Command, shellQuote(c.name)
	switch {
	case r != nil && r.Note != "":
		return fmt.Sprintf("To see what to repair, run: %s doctor", usher)
	case r != nil:
		return "No allow rule comes before an ask rule: to let it run without a question, take that one out"
	case c.risk >= permission.Destructive:
		return fmt.Sprintf("To let this tool, as it is defined now, run without a question from then on: %s allow %s --risk write", usher, name)
	case c.isLocal():
		return fmt.Sprintf("To allow it, run: %s allow %s", usher, name)
	}
	return fmt.Sprintf("To allow it, run: %s allow %s (or all of this server: %s allow %s)", usher, name, usher, shellQuote("mcp."+c.tool.Server+".*"))
}

// shellWord is s where that is one plain word of a shell, else quoted.
func shellWord(s string) string {
	for _, r := range s {
		if r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return shellQuote(s)
		}
	}
	return s
}

// shellQuote makes s one word of a shell, whatever a server put into it.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// askedBecause says why a call needs a person's word.
func askedBecause(c *call, r *permission.Rule) string {
	switch {
	case r == nil:
		return "its risk is " + c.risk.String()
	case r.Note != "":
		return r.Note
	}
	return "the rule " + where(r) + " asks"
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
