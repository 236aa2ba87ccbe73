package flow

import (
	"github.com/usher-mcp/usher/permission"
)

// Rule gives labels to the tools that a pattern names, which is one of permission.Rule.
type Rule struct {
	Pattern string
	Traits  Traits
	// AddsOnly is for a rule of a file that isn't the user's own, such as a project's: it takes nothing away.
	AddsOnly bool
}

// Rules are what the configuration says. They are immutable and safe for concurrent use; nil has none.
type Rules struct{ all []rule }

type rule struct {
	Rule
	wide   permission.Rule
	narrow *permission.Policy
}

// NewRules makes Rules. Their order doesn't matter.
func NewRules(rules []Rule) *Rules {
	r := &Rules{}
	for _, one := range rules {
		r.all = append(r.all, rule{
			Rule: one, wide: permission.Rule{Pattern: one.Pattern},
			narrow: &permission.Policy{Allow: []permission.Rule{{Pattern: one.Pattern}}},
		})
	}
	return r
}

// TraitsOf returns what counts for a tool. The union of all rules that name it replaces what would be taken for granted;
// a hint that it reaches the open world is still added. A rule whose pattern could only be read as meaning the tool adds
// to that, and takes nothing away: as an allow rule, what makes things easier reaches no further than it must.
func (r *Rules) TraitsOf(f Facts) Traits {
	if r == nil || len(r.all) == 0 {
		return TraitsOf(f)
	}
	var given, added Traits
	replaced := false
	for i := range r.all {
		switch one := &r.all[i]; {
		case !one.wide.Reaches(f.Target):
		case !one.AddsOnly && one.exactly(f.Target):
			given, replaced = given.with(one.Traits), true
		default:
			added = added.with(one.Traits)
		}
	}
	if !replaced {
		given = TraitsOf(f)
	}
	return given.with(added).with(saysOpen(f))
}

// exactly is how an allow rule would see it.
func (r *rule) exactly(t permission.Target) bool {
	return r.narrow.Decide(permission.Call{Target: t, Risk: permission.Network}).Effect == permission.Allow
}
