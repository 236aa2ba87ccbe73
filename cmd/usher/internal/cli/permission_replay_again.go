package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

type knownTool = usher.Known

// replayer decides calls of the log again. What the log doesn't tell is tried both ways: where that makes a difference,
// it can't be told.
type replayer struct {
	now    *config.Config // as it counts now
	rules  *config.Config // with the new rules
	before *permission.Policy
	policy *permission.Policy
	mode   permission.Mode
	known  map[permission.Target]knownTool
	bounds map[string]*bounds
	names  map[string]permission.Target
}

func newReplayer(now, rules *config.Config, mode shownMode) *replayer {
	r := &replayer{now: now, rules: rules, before: standard.Rules(now), policy: standard.Rules(rules), bounds: map[string]*bounds{}, names: map[string]permission.Target{}}
	r.mode, _ = permission.ParseMode(mode.Mode)
	return r
}

// unknown is what isn't known of a call, and why; what is empty is known.
type unknown struct {
	args, hints, session, source string
	grant                        string // whether it was allowed for good
	ungranted                    bool   // it is known that it wasn't
}

// bounds are the strictest and the mildest rules that those for one tool may amount to.
type bounds struct {
	low, high *permission.Policy
	real      map[*permission.Rule]*permission.Rule // as they are written
	why       []string                              // what isn't known of the calls
}

func (r *replayer) again(c *loggedCall) replayedCall {
	was := c.was()
	out := replayedCall{ID: c.id, Session: c.session, Time: c.time, Tool: c.asked.Tool, Was: was.String()}
	if c.started != nil {
		out.Client = c.started.Client
	}
	call, u := r.call(c)
	b := r.boundsOf(call, u)
	var found []permission.Decision
	for _, risk := range r.risks(c, call) {
		for _, p := range []*permission.Policy{b.low, b.high} {
			call.Risk = risk
			d := p.Decide(call)
			d.Effect = r.withFlow(c, d.Effect)
			found = append(found, d)
		}
	}
	d := found[0]
	if slices.ContainsFunc(found, func(o permission.Decision) bool { return o.Effect != d.Effect }) {
		out.Would, out.Unknown = cantTell, r.why(c, call, b, found)
		return out
	}
	out.Would, out.Why = d.Effect.String(), d.Why
	if real := b.real[d.Rule]; real != nil {
		d.Rule = real
	}
	if d.Rule != nil {
		out.Rule = ruleOf(d.Rule)
		out.Rule.List = d.Effect.String()
	}
	if c.byFlow() && d.Effect != permission.Allow && d.Rule == nil {
		out.Why = "it could carry private data out"
	}
	if was != permission.Allow && d.Effect == permission.Allow && r.flowsOn() && r.known[call.Target].Sink != "none" {
		out.Note = "it still asks where it could carry private data out"
	}
	return out
}

const cantTell = "can't tell"

// why says what it is that can't be told.
func (r *replayer) why(c *loggedCall, call permission.Call, b *bounds, found []permission.Decision) []string {
	why := slices.Clone(b.why)
	if found[0].Effect == found[1].Effect { // so it is the risk
		why = append(why, fmt.Sprintf("its label of risk is another one, and what its risk would be without isn't known (it was %s)", c.asked.RiskAtDecision))
	}
	return why
}

// call is what rules look at, as far as the log and what is known now tell it.
func (r *replayer) call(c *loggedCall) (permission.Call, unknown) {
	var u unknown
	target := r.target(c.asked.Tool)
	known, ok := r.known[target]
	call := known.Call
	if !ok {
		call = permission.Call{Target: target, Builtin: target.Server == ""}
		u.hints = "its hints aren't known, since the tool is gone or its server's tools were never kept"
		if s := entryOf(r.now, target.Server); s.Name != "" {
			call.Source, call.Entry = s.Source, s.Hash
		} else if target.Server != "" {
			u.source = "its server isn't configured any more"
		}
	}
	call.Args, u.args = c.arguments()
	call.Session, call.Mode, call.Package = c.session, r.mode, ""
	call.Granted = c.bySession()
	r.granted(c, &call, &u)
	if c.started != nil {
		call.Kind, call.Client = c.started.Kind, c.started.Client
	} else {
		u.session = "the beginning of its session isn't in the log"
	}
	return call, u
}

// granted finds out whether what a person allowed for good counted then.
func (r *replayer) granted(c *loggedCall, call *permission.Call, u *unknown) {
	i := slices.IndexFunc(r.policy.Grants, func(g permission.Grant) bool { return g.Target == call.Target })
	_, known := r.known[call.Target]
	switch {
	case c.byGrant() && i >= 0:
		call.Entry, call.Definition = r.policy.Grants[i].Entry, r.policy.Grants[i].Definition
	case c.byGrant():
		u.grant = "what let it run was allowed for good, and isn't any more"
	case !c.beforeGrants():
		u.ungranted = true
	case i >= 0 && !known:
		u.grant = "it is allowed for good, and whether it was the same tool then isn't known"
	}
}

func (r *replayer) target(name string) permission.Target {
	t, ok := r.names[name]
	if !ok {
		t = r.findTarget(name)
		r.names[name] = t
	}
	return t
}

func (r *replayer) findTarget(name string) permission.Target {
	for t := range r.known {
		if t.Canonical() == name {
			return t
		}
	}
	if tool, ok := strings.CutPrefix(name, "local."); ok {
		return permission.Target{Tool: tool}
	}
	server, _ := serverOf(r.now, name)
	if server == "" {
		server, _, _ = strings.Cut(strings.TrimPrefix(name, "mcp."), ".")
	}
	return permission.Target{Server: server, Tool: strings.TrimPrefix(name, "mcp."+server+".")}
}

// risks are those that the call may have had: the one of then, unless its label is another one.
func (r *replayer) risks(c *loggedCall, call permission.Call) []permission.Risk {
	then, _ := permission.ParseRisk(c.asked.RiskAtDecision)
	name := call.Canonical()
	old, was := r.before.Labels[name]
	label, is := r.policy.Labels[name]
	if was == is && old == label {
		return []permission.Risk{then}
	}
	if known, ok := r.known[call.Target]; ok {
		return []permission.Risk{r.policy.RiskOf(call.Target, call.Definition, known.Assessed)}
	}
	var all []permission.Risk
	for risk := permission.Read; risk <= permission.Destructive; risk++ {
		all = append(all, max(risk, label.Risk))
	}
	if is {
		all = append(all, label.Risk)
	}
	return all
}

func (r *replayer) flowsOn() bool { return r.rules.Flows.Mode != config.FlowsOff }

// withFlow adds what a flow did then: where data could go doesn't depend on rules.
func (r *replayer) withFlow(c *loggedCall, e permission.Effect) permission.Effect {
	switch {
	case !c.byFlow() || e == permission.Deny || !r.flowsOn():
		return e
	case r.rules.Flows.Mode == config.FlowsDeny || r.policy.ModeOf(r.mode) == permission.DontAsk:
		return permission.Deny
	}
	return permission.Ask
}

// boundsOf makes, for one tool, the rules of which it isn't known whether they match into ones that do and that don't.
func (r *replayer) boundsOf(call permission.Call, u unknown) *bounds {
	key := fmt.Sprintf("%q%q%+v", call.Server, call.Tool, u)
	if b := r.bounds[key]; b != nil {
		return b
	}
	b := &bounds{real: map[*permission.Rule]*permission.Rule{}, low: r.empty(u), high: r.empty(u)}
	b.low.Deny, b.high.Deny = b.split(r.policy.Deny, permission.Deny, call, u)
	b.low.Ask, b.high.Ask = b.split(r.policy.Ask, permission.Ask, call, u)
	b.high.Allow, b.low.Allow = b.split(r.policy.Allow, permission.Allow, call, u)
	if u.grant != "" {
		mine := func(g permission.Grant) bool { return g.Target == call.Target }
		b.low.Grants = slices.DeleteFunc(slices.Clone(b.low.Grants), mine)
		b.high.Allow = append(b.high.Allow, permission.Rule{Pattern: "*", Entry: call.Entry})
		b.why = append(b.why, u.grant)
	}
	slices.Sort(b.why)
	b.why = slices.Compact(b.why)
	r.bounds[key] = b
	return b
}

// empty is the policy without its rules.
func (r *replayer) empty(u unknown) *permission.Policy {
	p := &permission.Policy{Labels: r.policy.Labels, Grants: r.policy.Grants, Modes: r.policy.Modes, Real: r.policy.Real}
	if u.ungranted {
		p.Grants = nil
	}
	return p
}

// split returns the list with each doubtful rule as one that always matches, and without them.
func (b *bounds) split(rules []permission.Rule, list permission.Effect, call permission.Call, u unknown) (with, without []permission.Rule) {
	var origin []*permission.Rule
	for i := range rules {
		rule := &rules[i]
		if list == permission.Allow && !rule.Permits(call.Target) || list != permission.Allow && !forbids(rule, call) {
			continue
		}
		why := doubtful(rule, list, u)
		sure := *rule
		if len(why) > 0 {
			b.why = append(b.why, why...)
			sure.Pattern, sure.When = "*", nil
			if u.source != "" && list == permission.Allow {
				sure.Scope, sure.Entry = "", ""
			}
		} else {
			without = append(without, *rule)
		}
		with, origin = append(with, sure), append(origin, rule)
	}
	for i := range with {
		b.real[&with[i]] = origin[i]
	}
	for i := range without {
		b.real[&without[i]] = &without[i]
	}
	return with, without
}

// forbids reports whether a rule of a list that forbids is about the tool, its arguments and condition aside.
func forbids(rule *permission.Rule, call permission.Call) bool {
	name, _, _ := strings.Cut(rule.Pattern, "(")
	p := permission.Policy{Deny: []permission.Rule{{Pattern: rule.Pattern}, {Pattern: strings.TrimRight(name, " ")}}}
	return p.Denied(call.Target, call.Model)
}

// doubtful says what a rule looks at that isn't known of the call.
func doubtful(rule *permission.Rule, list permission.Effect, u unknown) (why []string) {
	when := conditionOf(rule)
	doubt := func(reason, word string) {
		if reason != "" && strings.Contains(when, word) {
			why = append(why, reason)
		}
	}
	if u.args != "" && (strings.Contains(rule.Pattern, "(") || strings.Contains(when, "args")) {
		why = append(why, u.args)
	}
	doubt(u.hints, "annotations")
	doubt(u.session, "client")
	doubt(u.session, "kind")
	doubt(u.source, "source")
	doubt("the log doesn't tell for whom it was made", "principal")
	doubt("the log doesn't tell what its session held", "labels")
	if list == permission.Allow && u.source != "" {
		why = append(why, u.source)
	}
	return why
}
