package permission

// hit is the rule of a list that matched, and what else there is to say about how.
type hit struct {
	rule *Rule
	why  string // empty: as the list's matches always are
}

// found is the first matching rule of each list. Lists after one with a match needn't have been looked at.
type found struct{ deny, ask, allow hit }

// settle makes the decision out of what matched, the call's risk, its grants and its mode.
func (p *Policy) settle(c *Call, f found) Decision {
	if f.deny.rule != nil {
		return byRule(Deny, f.deny, "a deny rule forbids it")
	}
	mode := p.ModeOf(c.Mode)
	if mode == Plan && c.Risk != Read {
		return Decision{Effect: Deny, Actor: "policy", SourcedFrom: "mode", Why: "in the mode plan only reads run, and " + riskSentence(c.Risk)}
	}
	d := p.settleInMode(c, f, mode)
	if mode != DontAsk {
		return d
	}
	switch {
	case d.Effect == Ask:
		d.Why = "in the mode dont-ask nobody is asked, and " + d.Why
	case d.Effect == Allow && d.SourcedFrom == "default":
		d.Why = "in the mode dont-ask only what a rule, a grant or the list of built-in tools lets run does"
	default:
		return d
	}
	d.Effect, d.Actor, d.SourcedFrom = Deny, "policy", "mode"
	return d
}

func (p *Policy) settleInMode(c *Call, f found, mode Mode) Decision {
	if c.Risk >= Destructive || c.Risk == 0 {
		return Decision{Effect: Ask, Actor: "default", SourcedFrom: "default", Why: riskSentence(c.Risk)}
	}
	if c.Granted && (f.ask.rule != nil || f.allow.rule == nil) {
		return Decision{Effect: Allow, Actor: "user", SourcedFrom: "session_allow", Why: "it was allowed for this session"}
	}
	if f.ask.rule != nil {
		return byRule(Ask, f.ask, "an ask rule wants a person's word")
	}
	if f.allow.rule != nil {
		return byRule(Allow, f.allow, "an allow rule lets it run")
	}
	g, stale := p.granted(c)
	switch {
	case g != nil:
		return Decision{Effect: Allow, Actor: "user", SourcedFrom: "always_allow", Grant: g, Why: "it was allowed for good as it is now"}
	case c.Builtin && c.Risk == Read:
		return Decision{Effect: Allow, Actor: "default", SourcedFrom: "builtin", Why: "it is a built-in tool that reads"}
	case c.Risk == Read:
		return Decision{Effect: Allow, Actor: "default", SourcedFrom: "default", Why: riskSentence(Read)}
	case mode == AcceptReads && p.claimsRead(c):
		return Decision{Effect: Allow, Actor: "policy", SourcedFrom: "mode", Why: "in the mode accept-reads a tool that calls itself read-only runs"}
	case mode == Bypass:
		return Decision{Effect: Allow, Actor: "policy", SourcedFrom: "mode", Why: "in the mode bypass what no rule is about runs"}
	}
	return Decision{Effect: Ask, Actor: "default", SourcedFrom: "default", Why: riskSentence(c.Risk), Stale: stale}
}

// claimsRead reports whether the tool says that it only reads, without contradiction, and the user has said nothing
// else about it.
func (p *Policy) claimsRead(c *Call) bool {
	return c.Risk == Network && !p.labelled(c.Target) && is(c.Annotations.ReadOnly, true) && !is(c.Annotations.Destructive, true)
}

// granted returns the grant that counts for the call, else why those for its tool don't.
func (p *Policy) granted(c *Call) (g *Grant, stale string) {
	if len(p.Grants) == 0 {
		return nil, ""
	}
	for _, g := range p.lists().grants[c.Canonical()] {
		why := g.stale(c)
		if why == "" {
			return g, ""
		}
		stale = why
	}
	return nil, stale
}

func byRule(e Effect, h hit, why string) Decision {
	if h.why != "" {
		why = h.why
	}
	return Decision{Effect: e, Actor: "rule", SourcedFrom: "rule:" + h.rule.Scope, Rule: h.rule, Why: why}
}

var riskSentences = [...]string{
	Read: "its risk is read", Write: "its risk is write", Network: "its risk is network", Execute: "its risk is execute",
	Destructive: "what it does is destructive, which always asks",
}

func riskSentence(r Risk) string {
	if r == 0 || int(r) >= len(riskSentences) {
		return "its risk isn't known"
	}
	return riskSentences[r]
}
