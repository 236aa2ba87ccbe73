package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/condition"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// lint lists what in the permissions probably isn't what its writer meant.
type lint struct {
	*app
	config *config.Config
	known  []usher.Known
	w      surroundings
}

// all is for the server named only, unless that is "".
func (l lint) all(only string) []ruleWarning {
	var rules []listedRule
	for _, r := range listedRules(l.config) {
		if only == "" || slices.Contains(l.w.meant(namePart(r.Pattern)), only) {
			rules = append(rules, r)
		}
	}
	all := append(l.w.questionable(rules, ""), brokenConditions(rules)...)
	for _, r := range rules {
		for _, text := range l.doubts(r) {
			all = append(all, r.warning(text))
		}
		if text := l.reach(r); text != "" {
			all = append(all, r.warning(text))
		}
	}
	all = append(all, l.grants(only)...)
	if m := l.modeOf(l.config); only == "" && m.forbids() != "" {
		all = append(all, ruleWarning{File: cmp.Or(m.File, "--mode"), Line: m.Line, List: "mode", Rule: m.Wanted, Message: m.forbids()})
	}
	slices.SortStableFunc(all, func(a, b ruleWarning) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return all
}

// tell tells of one rule that was just written.
func (l lint) tell(g granted) {
	for _, r := range listedRules(l.config) {
		if r.list != g.List || r.Pattern != g.Rule || r.Line != g.Line {
			continue
		}
		texts := l.doubts(r)
		if text := l.reach(r); text != "" {
			texts = append(texts, text)
		}
		for _, text := range texts {
			fmt.Fprintf(l.err, "%s %s\n", l.err.paint(yellow, "note:"), l.err.wrapped(line(text), len("note: ")))
		}
		return
	}
}

func (r listedRule) warning(text string) ruleWarning {
	return ruleWarning{File: r.File, Line: r.Line, List: r.list, Rule: r.Pattern, Message: text}
}

// namePart is a rule's pattern without its arguments.
func namePart(pattern string) string {
	name, _, _ := strings.Cut(pattern, "(")
	return strings.TrimRight(name, " ")
}

func (r listedRule) effect() permission.Effect {
	return map[string]permission.Effect{"deny": permission.Deny, "ask": permission.Ask, "allow": permission.Allow}[r.list]
}

// brokenConditions are those that don't compile: what counts instead is the strict thing.
func brokenConditions(rules []listedRule) (all []ruleWarning) {
	var compiler *condition.Compiler
	for _, r := range rules {
		if r.When == "" {
			continue
		}
		if compiler == nil {
			var err error
			if compiler, err = condition.New(); err != nil {
				return nil
			}
		}
		_, err := compiler.Compile(r.When)
		if err == nil {
			continue
		}
		w := r.warning("its condition can't be read, " + err.Error() + "; until it is repaired the rule " + r.instead())
		if at, ok := errors.AsType[*condition.Error](err); ok {
			w.Column = at.Column
		}
		all = append(all, w)
	}
	return all
}

// instead is what a rule with a condition that can't be read does.
func (r listedRule) instead() string {
	if r.list == "allow" {
		return "allows nothing"
	}
	return "counts without it, for every call of what it names"
}

// doubts are those about its arguments that hold for all tools that it names.
func (l lint) doubts(r listedRule) []string {
	rule := permission.Rule{Pattern: r.Pattern, When: nil}
	if !strings.Contains(r.Pattern, "(") && permission.CheckPattern(r.Pattern) == nil {
		return nil
	}
	var all []string
	named := 0
	for _, k := range l.known {
		if !r.reaches(k.Call.Target) {
			continue
		}
		doubts := permission.Doubts(rule, r.effect(), k.Schema)
		if named++; named == 1 {
			all = doubts
		}
		all = slices.DeleteFunc(all, func(d string) bool { return !slices.Contains(doubts, d) })
	}
	if named == 0 {
		return permission.Doubts(rule, r.effect(), nil) // what is wrong with it whatever it names
	}
	return all
}

// reach says why an allow rule can't let anything of the servers run that it names, because of where they are from.
func (l lint) reach(r listedRule) string {
	name := namePart(r.Pattern)
	sep := separator(name, "mcp")
	if r.list != "allow" || sep == "" || strings.Contains(serverPart(name, sep), "*") {
		return ""
	}
	text := ""
	for _, server := range l.w.meant(name) {
		s := entryOf(l.config, server)
		switch {
		case s.Name == "" || permitted(r, s):
			return "" // the name can mean this one, too
		case r.Entry != "":
			text = fmt.Sprintf("it is for the entry of %s as it was, which has changed since (%s:%d); to allow the one of now", server, s.File, s.Line)
		default:
			text = fmt.Sprintf("it doesn't reach %s, whose entry is from another source (%s); to bind it to that entry", server, placeOf(s.File, s.Line, s.Source))
		}
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s, run: %s allow %s", text, l.command(), shellWord(name))
}

// permitted reports whether a rule of this source may let calls to this server run.
func permitted(r listedRule, s config.Server) bool {
	p := permission.Policy{Allow: []permission.Rule{{Pattern: "*", Entry: r.Entry, Scope: r.Source}}}
	c := permission.Call{Target: permission.Target{Server: s.Name, Tool: "any"}, Risk: permission.Network, Source: s.Source, Entry: s.Hash}
	return p.Decide(c).Effect == permission.Allow
}

// grants are those that don't count any more.
func (l lint) grants(only string) (all []ruleWarning) {
	policy := standard.Rules(l.config)
	for i := range policy.Grants {
		g := &policy.Grants[i]
		if only != "" && g.Server != only {
			continue
		}
		if why := l.stale(policy, g); why != "" {
			all = append(all, ruleWarning{File: g.File, Line: g.Line, List: "grants", Rule: g.Canonical(),
				Message: why + "; it counts no more, and the next call that needs it asks"})
		}
	}
	return all
}

// stale says why a grant doesn't count, as far as that is known without its server.
func (l lint) stale(p *permission.Policy, g *permission.Grant) string {
	for _, k := range l.known {
		if k.Call.Target != g.Target {
			continue
		}
		for _, s := range p.Explain(k.Call) {
			if s.Grant == g && !s.Matched {
				return s.Why
			}
		}
		return ""
	}
	switch s := entryOf(l.config, g.Server); {
	case g.Server != "" && s.Name == "":
		return "no server is called " + g.Server
	case g.Server != "" && s.Hash != g.Entry:
		return "the server's entry in the configuration has changed since it was allowed"
	case g.Server == "" || l.w.up[g.Server]:
		return "there is no such tool any more"
	}
	return ""
}
