package permission

// first returns the first of the rules that matches the call.
func (p *Policy) first(rules []*entry, c *Call, how reading) hit {
	for _, e := range rules {
		if ok, why := p.applies(e, c, how); ok {
			return hit{e.rule, why}
		}
	}
	return hit{}
}

// applies reports whether a rule that is about the tool matches the call, and what there is to say about that.
func (p *Policy) applies(e *entry, c *Call, how reading) (matches bool, why string) {
	switch {
	case e.broken != nil:
		return how == wide, e.whyBroken()
	case e.always:
		return true, ""
	}
	if len(e.args) > 0 {
		args, err := c.Arguments()
		if err != nil {
			return how == wide, err.Error()
		}
		if !p.fit(e, args, how) {
			return false, "the arguments are others"
		}
	}
	if e.rule.When == nil {
		return true, ""
	}
	switch ok, err := e.rule.When.Holds(c); {
	case err != nil:
		return how == wide, "its condition can't be evaluated: " + err.Error()
	case !ok:
		return false, "its condition doesn't hold"
	}
	return true, ""
}

func (p *Policy) fit(e *entry, args map[string]any, how reading) bool {
	for i := range e.args {
		a := &e.args[i]
		if how == wide && !a.forbids(args, p.Real) || how == narrow && !a.allows(args, p.Real) {
			return false
		}
	}
	return true
}
