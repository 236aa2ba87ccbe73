package usher

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/permission"
)

// TaintStore keeps what servers were given and clients know over restarts.
type TaintStore = flow.Store

// FlowRule gives labels to the tools that a pattern names.
type FlowRule = flow.Rule

// FlowMode is what happens with a call that could carry private data out of a session that took in untrusted content.
type FlowMode uint8

// The modes of flows.
const (
	FlowAsk  FlowMode = iota // a person is asked, once for each pair of source and sink in a session
	FlowDeny                 // it is denied
	FlowOff                  // nothing
)

// Flows is what the configuration says of flows. It is immutable and safe for concurrent use.
type Flows struct {
	mode    FlowMode
	rules   *flow.Rules
	inherit time.Duration

	memo     sync.Map // traitKey → flow.Traits
	memoSize atomic.Int64
}

// NewFlows makes one. A session begins with what the same client took in within inherit before; 0: with nothing.
func NewFlows(mode FlowMode, rules []FlowRule, inherit time.Duration) *Flows {
	return &Flows{mode: mode, rules: flow.NewRules(rules), inherit: inherit}
}

// FlowTraits reads labels as a configuration names them: untrusted, private and egress.
func FlowTraits(labels []string) (flow.Traits, error) { return flow.ParseTraits(labels) }

// fromFlow is the sourcedFrom of what a flow decided.
const fromFlow = "toxic_flow"

// maxTraits bounds the memo, since tools come from servers that may make up new ones for ever.
const maxTraits = 100_000

type traitKey struct {
	permission.Target
	hash, entry, kind string
	hints, secrets    bool
	risk              permission.Risk
}

// traitsOf remembers what it finds.
func (f *Flows) traitsOf(t *router.Tool, risk permission.Risk, s *hosted) flow.Traits {
	key := traitKey{t.Target, t.Hash, s.Entry, s.Kind, s.TrustHints, s.Credentials, risk}
	if known, ok := f.memo.Load(key); ok {
		return known.(flow.Traits)
	}
	traits := f.rules.TraitsOf(flow.Facts{
		Target: t.Target, Builtin: t.Builtin, Local: s.Kind == "stdio" || s.Kind == "local", Credentials: s.Credentials, Risk: risk,
		Hints: t.Def.Annotations, HintsCount: s.TrustHints,
	})
	if f.memoSize.Load() < maxTraits && f.memoSize.Add(1) <= maxTraits {
		f.memo.Store(key, traits)
	}
	return traits
}

// carries is told just before the call leaves: from now on the session counts as having what the tool gives, since its
// progress may tell it before its answer does, and the server as having what the session held.
func (c *call) carries() error {
	at := flow.Server(c.tool.Server)
	if c.risk > permission.Read {
		if err := c.s.flow.Wrote(at); err != nil {
			return ledgerFailed(err)
		}
	}
	if err := c.s.flow.Took(at, c.traits.Labels); err != nil {
		return ledgerFailed(err)
	}
	return nil
}

// carried is told before the caller sees what came back, also a failure: the server may have been given something by others
// meanwhile. The session itself knows in any case; what isn't kept for later was told when it happened.
func (c *call) carried() { _ = c.s.flow.Took(flow.Server(c.tool.Server), c.traits.Labels) }

// ledgerFailed keeps a call back: what it would bring couldn't be told from what is harmless later.
func ledgerFailed(err error) error {
	return &fault.Error{Kind: fault.LogUnavailable, Detail: "what the session took in can't be written: " + err.Error(), Cause: err}
}

// consider looks at where the call could carry what the session holds. A call that asks anyway has one question that
// tells both reasons.
func (s *Session) consider(c *call, d permission.Decision) permission.Decision {
	flows := s.h.o.Flows()
	c.traits = flows.traitsOf(c.tool, c.risk, c.server)
	if d.Effect == permission.Deny || flows.mode == FlowOff {
		return d
	}
	if c.flow = s.flow.Check(c.tool.Target, c.traits.Sink); c.flow == nil {
		return d
	}
	strict := s.h.o.Policy().ModeOf(s.mode()) == permission.DontAsk
	switch {
	case flows.mode == FlowDeny || strict:
		return permission.Decision{Effect: permission.Deny, Actor: "policy", SourcedFrom: fromFlow, Why: c.flow.Why()}
	case d.Effect == permission.Ask:
		return d
	}
	return permission.Decision{Effect: permission.Ask, Actor: "policy", SourcedFrom: fromFlow, Why: c.flow.Why()}
}
