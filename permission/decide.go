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
	Labels           map[string]Label // by canonical name; one under a name spelled otherwise can only raise the risk
	Grants           []Grant
	Modes            []Mode // those that may be used; empty: all

	// Real returns the absolute path that a path leads to once its symbolic links are followed, or "" where it can't tell,
	// or it is no path. "." is the folder that relative ones are from, "~" the home folder. It is called for values that
	// rules with arguments look at; it must be safe for concurrent use. Nil: links aren't followed, relative paths are no
	// absolute ones, and Decide touches no files.
	Real func(path string) string

	once     sync.Once
	read     lists
	memo     sync.Map // bearer → *candidates
	memoSize atomic.Int64
}

// Decision says what is to happen and why.
type Decision struct {
	Effect      Effect
	Actor       string // rule, policy, default or user: the actor field of permission.resolved
	SourcedFrom string // default, rule:<scope>, builtin, session_allow, always_allow, mode
	Rule        *Rule  // the rule that decided, or that would have asked
	Grant       *Grant // the grant that decided
	Why         string // a sentence that doesn't name the rule
	Stale       string // why a grant for this tool no longer counts, where that is why it asks
}

// Decide decides one call. It takes no time but the CPU's, and asks nobody.
func (p *Policy) Decide(c Call) Decision {
	m := p.candidates(&c)
	if m.simple {
		return p.settle(&c, m.found())
	}
	return p.decideByArguments(c, m)
}

// decideByArguments is a function of its own since its copy of the call has to be on the heap.
func (p *Policy) decideByArguments(c Call, m *candidates) Decision {
	f := found{deny: p.first(m.deny, &c, wide)}
	if f.deny.rule == nil {
		f.ask = p.first(m.ask, &c, wide)
	}
	if f.deny.rule == nil && f.ask.rule == nil {
		f.allow = p.first(m.allow, &c, narrow)
	}
	return p.settle(&c, f)
}

// Outlook decides as Decide does for a call whose arguments aren't known yet: rules with arguments or a condition are
// left out. It is for listing tools.
func (p *Policy) Outlook(c Call) Decision { return p.settle(&c, p.candidates(&c).found()) }

// Denied reports whether a deny rule reaches the tool whatever its arguments are, under its own name or the one toward
// models; such a tool is hidden from the model.
func (p *Policy) Denied(t Target, model string) bool {
	return p.candidates(&Call{Target: t, Model: model}).found().deny.rule != nil
}
