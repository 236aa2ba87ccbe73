package usher

import (
	"context"
	"encoding/json"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// Explanation is what would be decided about a call now, and why. It may hold what servers and models wrote.
type Explanation struct {
	Tool     Tool // its Effect is the one of Decision
	Call     permission.Call
	Steps    []permission.Step   // what the rules looked at
	Rules    permission.Decision // what they decide, before anyone looks where data would go
	Decision permission.Decision

	TrustHints bool              // the user trusts what the tool's server says of it
	Assessed   permission.Risk   // what follows from that alone
	Label      *permission.Label // the user's own word on its risk; nil: none

	Gives   []string // what its results are taken for: untrusted, private
	Sink    string   // how far it may carry what it is given: none, closed (to what its own server stands for) or open
	Flow    string   // what it could carry where, if anything
	Reasons []string // what makes it ask, as a person who is asked reads it
	Hint    string   // how such a call could be let in without a question; empty where it doesn't ask
	Invalid error    // why the arguments don't fit the tool's schema: such a call ends before anybody is asked
}

// Explain says what would be decided about a call of this session. Nothing is recorded, nobody is asked, and nothing is
// sent; only a server of whose tools nothing is known yet is waited for, until ctx ends, and started where it sleeps (see
// Options.Lazy). The error is a *fault.Error, as Call has it for such a name.
func (s *Session) Explain(ctx context.Context, name string, args json.RawMessage) (*Explanation, error) {
	return s.explainCall(ctx, name, args, false)
}

func (s *Session) explainCall(ctx context.Context, name string, args json.RawMessage, granted bool) (*Explanation, error) {
	if args == nil {
		args = json.RawMessage(`{}`)
	}
	if err := mcp.Validate(args); err != nil {
		return nil, &fault.Error{Kind: fault.InvalidParams, Tool: name, Detail: err.Error()}
	}
	params := mcp.SetMember(mcp.SetMember(nil, "name", mcp.Quote(name)), "arguments", args)
	c := s.begin(mcp.Request("0", mcp.MethodCallTool, params), mcp.Nobody)
	if err := resolveTool(ctx, c); err != nil {
		return nil, c.failed(err)
	}
	if granted {
		f := s.facts(c.tool, c.risk, nil)
		s.grants[c.tool.Target] = bond{f.Entry, f.Definition, f.Package}
	}
	return s.explain(c), nil
}

func (s *Session) explain(c *call) *Explanation {
	policy := s.h.o.Policy()
	e := &Explanation{Call: s.facts(c.tool, c.risk, c.args), TrustHints: c.server.TrustHints, Assessed: c.tool.Risk}
	e.Steps, e.Rules = policy.Explain(e.Call), policy.Decide(e.Call)
	e.Decision, e.Invalid = s.judge(c, policy)
	if e.Invalid != nil {
		e.Decision = s.consider(c, e.Decision)
	}
	if l, ok := policy.Labels[c.tool.Canonical()]; ok {
		e.Label = &l
	}
	e.Tool = s.toolOf(c.tool, c.risk, e.Decision.Effect)
	e.Gives, e.Sink = c.traits.Labels.Names(), c.traits.Sink.String()
	if c.flow != nil {
		e.Flow = c.flow.Why()
	}
	if e.Decision.Effect == permission.Ask {
		e.Reasons, e.Hint = reasons(c, e.Decision), allowHint(c, e.Decision)
	}
	return e
}

// As is a session that an Explanation is for, whether there is such a one or not.
type As struct {
	ID string // what rules see as session.id
	SessionOptions
	Granted bool // a person allowed the tool for the session, as it is now
}

// Explain is Session.Explain for a session that would be like this one, without beginning it.
func (h *Host) Explain(ctx context.Context, as As, name string, args json.RawMessage) (*Explanation, error) {
	s := h.asIf(as)
	return s.explainCall(ctx, name, args, as.Granted)
}

// asIf is a session that nobody can call with.
func (h *Host) asIf(as As) *Session {
	return &Session{
		h: h, id: as.ID, o: as.SessionOptions, flow: h.flows.Like(as.Principal, as.Client), grants: map[permission.Target]bond{},
	}
}

// Known is what is known of a tool before anybody calls it.
type Known struct {
	Call     permission.Call // without what only a session and its call say
	Assessed permission.Risk // without the user's label, which Call.Risk is with
	Sink     string          // as in Explanation
	Schema   json.RawMessage // of its arguments, as its server gave it
}

// Known returns what rules may look at for each tool that is known now, denied ones too. It waits for nothing.
func (h *Host) Known() []Known {
	s := h.asIf(As{})
	policy, flows := h.o.Policy(), h.o.Flows()
	var all []Known
	for _, t := range h.router.Table().Tools() {
		server := h.server(t.Server)
		if server == nil {
			continue
		}
		risk := policy.RiskOf(t.Target, t.Hash, t.Risk)
		k := Known{Call: s.facts(t, risk, nil), Assessed: t.Risk, Schema: t.Def.InputSchema, Sink: flows.traitsOf(t, risk, server).Sink.String()}
		k.Call.Labels = nil
		all = append(all, k)
	}
	return all
}

func (s *Session) toolOf(t *router.Tool, risk permission.Risk, e permission.Effect) Tool {
	return Tool{
		Name: t.Name, Model: t.Model, Server: t.Server, Description: t.Def.Description, Risk: risk, Hash: t.Hash,
		Definition: t.Def.Raw, InputSchema: s.schema(t), Effect: e,
	}
}
