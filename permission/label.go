package permission

import (
	"slices"
	"strings"
)

// oddLabel is a label under a name that no tool has, but that a rule could have: `mcp__fs__x`, `mcp.fs.*`, `mcp.fs`,
// `mcp.FS.x`.
type oddLabel struct {
	pattern
	risk Risk
}

func oddLabels(labels map[string]Label) (all []oddLabel) {
	for name, l := range labels {
		p := pattern{name: name, folded: fold(name)}
		if strings.Contains(name, "*") || p.folded != name || isBare(name) ||
			!strings.HasPrefix(name, "mcp.") && !strings.HasPrefix(name, "local.") || strings.HasPrefix(name, "mcp.") && strings.Count(name, ".") < 2 {
			all = append(all, oddLabel{p, l.Risk})
		}
	}
	return all
}

// RiskOf returns the risk that counts: the user's label where there is one for this definition, else assessed, or more where
// a label says so. Labels under other spellings of the name, and under patterns, can only raise it.
func (p *Policy) RiskOf(t Target, hash string, assessed Risk) Risk {
	l, ok := p.Labels[t.Canonical()]
	if ok && l.Hash == hash {
		return l.Risk
	}
	risk := max(l.Risk, assessed)
	if odd := p.lists().odd; len(odd) > 0 {
		n := asked(t, "")
		for _, l := range odd {
			if l.forbids(n) {
				risk = max(risk, l.risk)
			}
		}
	}
	return risk
}

// labelled reports whether the user has said something about the tool's risk.
func (p *Policy) labelled(t Target) bool {
	if len(p.Labels) == 0 {
		return false
	}
	_, ok := p.Labels[t.Canonical()]
	return ok || slices.ContainsFunc(p.lists().odd, func(l oddLabel) bool { return l.forbids(asked(t, "")) })
}
