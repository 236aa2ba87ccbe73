package permission

// Step is one thing that a decision looked at, in order.
type Step struct {
	List    string // deny, ask, allow, or what else was looked at: grant, default
	Rule    *Rule  // with its file and line; nil for what no rule says
	Grant   *Grant
	Names   bool   // the rule is about this tool, its arguments and condition aside
	Matched bool   // it matches the call
	Decided bool   // it is what decided; exactly one step of an explanation is
	Effect  Effect // of the decision, for the step that decided
	Why     string // a sentence
}

// Explain says how Decide comes to its decision: each rule that was looked at, and which one, or what else, decided.
// All of a list is looked at, so that what would decide without the rule that did can be seen, too.
func (p *Policy) Explain(c Call) []Step {
	x := explanation{p: p, c: &c}
	l := p.lists()
	f := found{deny: x.list("deny", l.deny, wide)}
	if f.deny.rule == nil {
		f.ask = x.list("ask", l.ask, wide)
		f.allow = x.list("allow", l.allow, narrow)
	}
	x.grants()
	x.decided(p.settle(&c, f))
	return x.steps
}

type explanation struct {
	p     *Policy
	c     *Call
	steps []Step
}

func (x *explanation) list(name string, rules []entry, how reading) (first hit) {
	for i := range rules {
		e := &rules[i]
		s := Step{List: name, Rule: e.rule}
		why := ""
		s.Names, s.Why = x.about(e, how)
		if s.Names {
			s.Matched, why = x.p.applies(e, x.c, how)
			s.Why = why
		}
		if s.Matched && s.Why == "" {
			s.Why = "it matches"
		}
		if n := len(x.steps); n > 0 && x.steps[n-1].Rule == e.rule { // the second reading of its pattern
			if s.Names {
				x.steps[n-1] = s
			}
		} else {
			x.steps = append(x.steps, s)
		}
		if s.Matched && first.rule == nil {
			first = hit{e.rule, why}
		}
	}
	return first
}

func (x *explanation) about(e *entry, how reading) (bool, string) {
	const other = "it is about other tools"
	if how == wide {
		return e.forbids(asked(x.c.Target, x.c.Model)), other
	}
	switch {
	case !e.names(x.c.Target):
		return false, other
	case e.broken != nil:
		return false, "it can't be read (" + e.broken.Error() + "), and so it allows nothing"
	case !e.rule.permits(x.c):
		return false, x.outOfReach(e.rule)
	}
	return true, ""
}

func (x *explanation) outOfReach(r *Rule) string {
	switch {
	case r.Scope == sourceProject:
		return "a project's file can't allow anything"
	case r.Entry != "":
		return "it is bound to another entry of the configuration"
	}
	return "it is from the source " + scope(r.Scope) + ", and doesn't reach a server from the source " + scope(x.c.Source)
}

func scope(s string) string {
	if s == "" {
		return "program"
	}
	return s
}

func (x *explanation) grants() {
	for _, g := range x.p.lists().grants[x.c.Canonical()] {
		s := Step{List: "grant", Grant: g, Names: true, Why: g.stale(x.c)}
		if s.Matched = s.Why == ""; s.Matched {
			s.Why = "it was allowed for good as it is now"
		}
		x.steps = append(x.steps, s)
	}
}

// decided marks the step that the decision is from, or adds one where no rule's or grant's is.
func (x *explanation) decided(d Decision) {
	if d.Actor == "rule" || d.Grant != nil {
		for i := range x.steps {
			s := &x.steps[i]
			if s.Matched && s.Rule == d.Rule && s.Grant == d.Grant {
				s.Decided, s.Effect = true, d.Effect
				return
			}
		}
	}
	why := d.Why
	if d.Stale != "" {
		why += "; " + d.Stale
	}
	x.steps = append(x.steps, Step{List: d.SourcedFrom, Rule: d.Rule, Matched: true, Decided: true, Effect: d.Effect, Why: why})
}
