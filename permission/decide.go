package permission

import (
	"sync"
	"sync/atomic"
)

// Effect is what is to happen with a call.
type Effect uint8

// The effects.
const (
	Deny Effect = iota // the zero value: what nobody decided doesn't run
	Ask
	Allow
)

// String returns "deny", "ask" or "allow".
func (e Effect) String() string { return [...]string{"deny", "ask", "allow"}[e] }

// Label is a user's own word about the risk of one tool. While the tool's definition has this hash it holds as it is;
// for any other definition, or without a hash, it can only raise the risk.
type Label struct {
	Risk Risk
	Hash string
}

// Policy is a set of rules. It is immutable once it is in use, and safe for concurrent use.
type Policy struct {
	Deny, Ask, Allow []Rule
	Labels           map[string]Label // by canonical name

	// Which rules reach a tool never changes for a Policy, and looking through hundreds costs more than a call.
	memo     sync.Map // bearer → *matched
	memoSize atomic.Int64
}

// maxMemo bounds the memo, since tool names come from servers that may make up new ones for ever.
const maxMemo = 100_000

// matched holds the first rule of each list that reaches a tool.
type matched struct{ deny, ask, allow *Rule }

func (p *Policy) match(t Target, model string) *matched {
	key := bearer{t, model}
	if m, ok := p.memo.Load(key); ok {
		return m.(*matched)
	}
	forbids := func(r Rule, t Target) bool { return r.Reaches(t) || model != "" && glob(r.Pattern, model) }
	m := &matched{deny: first(p.Deny, t, forbids), ask: first(p.Ask, t, forbids), allow: first(p.Allow, t, Rule.matches)}
	if p.memoSize.Add(1) <= maxMemo {
		p.memo.Store(key, m)
	}
	return m
}

// bearer is all that rules can name.
type bearer struct {
	Target
	model string
}

// Call is what is decided about.
type Call struct {
	Target
	Model   string // its name toward models, which deny and ask rules may use, too
	Risk    Risk
	Builtin bool // on the list of built-in tools whose reads are nobody's business to be asked about
	Granted bool // a person allowed the tool for this session, as it is defined now
}

// Decision says what is to happen and why.
type Decision struct {
	Effect      Effect
	Actor       string // rule, default or user: the actor field of permission.resolved
	SourcedFrom string // default, rule:<scope>, builtin, session_allow
	Rule        *Rule  // the rule that decided, if one did
}

// RiskOf returns the risk that counts: the user's label where there is one for this definition, else assessed.
func (p *Policy) RiskOf(t Target, hash string, assessed Risk) Risk {
	l, ok := p.Labels[t.Canonical()]
	if ok && l.Hash == hash {
		return l.Risk
	}
	return max(l.Risk, assessed)
}

// Decide decides one call. It takes no time but the CPU's, and asks nobody.
func (p *Policy) Decide(c Call) Decision {
	m := p.match(c.Target, c.Model)
	if m.deny != nil {
		return byRule(Deny, m.deny)
	}
	if c.Risk >= Destructive || c.Risk == 0 {
		return Decision{Effect: Ask, Actor: "default", SourcedFrom: "default"}
	}
	switch {
	case c.Granted && (m.ask != nil || m.allow == nil):
		return Decision{Effect: Allow, Actor: "user", SourcedFrom: "session_allow"}
	case m.ask != nil:
		return byRule(Ask, m.ask)
	case m.allow != nil:
		return byRule(Allow, m.allow)
	case c.Builtin && c.Risk == Read:
		return Decision{Effect: Allow, Actor: "default", SourcedFrom: "builtin"}
	case c.Risk == Read:
		return Decision{Effect: Allow, Actor: "default", SourcedFrom: "default"}
	}
	return Decision{Effect: Ask, Actor: "default", SourcedFrom: "default"}
}

func byRule(e Effect, r *Rule) Decision {
	return Decision{Effect: e, Actor: "rule", SourcedFrom: "rule:" + r.Scope, Rule: r}
}

func first(rules []Rule, t Target, match func(Rule, Target) bool) *Rule {
	for i := range rules {
		if match(rules[i], t) {
			return &rules[i]
		}
	}
	return nil
}

// Denied reports whether a deny rule reaches the tool, under its own name or the one toward models; such a tool is
// hidden from the model.
func (p *Policy) Denied(t Target, model string) bool { return p.match(t, model).deny != nil }
