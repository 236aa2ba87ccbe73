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
		fit, err := p.fit(e, c, how)
		if err != nil {
			return how == wide, err.Error()
		}
		if !fit {
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

// fit reports whether all of the rule's arguments match.
func (p *Policy) fit(e *entry, c *Call, how reading) (bool, error) {
	if how == narrow {
		args, err := c.Arguments()
		for i := range e.args {
			if err != nil || !e.args[i].allows(args, c.plain, p.Real) {
				return false, err
			}
		}
		return true, nil
	}
	found, err := c.findLeaves()
	for i := range e.args {
		if err != nil || !found.forbid(&e.args[i], p.Real) {
			return false, err
		}
	}
	return true, nil
}
