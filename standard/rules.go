package standard

import (
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/condition"
	"github.com/usher-mcp/usher/permission"
)

// policyOf makes the rules that decide, for who works in dir. Where a part of them could not be read, it may have been a deny: then
// everything asks.
func policyOf(c *config.Config, dir string) *permission.Policy {
	r := ruleMaker{}
	p := &permission.Policy{
		Deny: r.rules(c.Permissions.Deny), Ask: r.rules(c.Permissions.Ask), Allow: r.rules(c.Permissions.Allow),
		Labels: map[string]permission.Label{}, Real: realIn(dir),
	}
	for name, l := range c.Permissions.Risk {
		if risk, err := permission.ParseRisk(l.Risk); err == nil {
			p.Labels[name] = permission.Label{Risk: risk, Hash: l.Hash}
		}
	}
	for _, g := range c.Permissions.Grants {
		p.Grants = append(p.Grants, grantOf(c, g))
	}
	for _, name := range c.Permissions.Modes {
		if m, err := permission.ParseMode(name); err == nil {
			p.Modes = append(p.Modes, m)
		}
	}
	if c.Permissions.Incomplete {
		p.Ask = append(p.Ask, permission.Rule{Pattern: "*", Scope: config.SourceUser, File: c.Path, Note: unclear(c)})
	}
	return p
}

// unclear says why everything asks.
func unclear(c *config.Config) string {
	file := c.Path
	if len(c.Unclear) > 0 {
		file = c.Unclear[0].File
	}
	return "a part of the permissions in " + file + " can't be read, so everything asks"
}

// grantOf takes the tool's name apart. Where it could be read two ways that does no harm: a grant is found by its full
// name and holds for its entry alone.
func grantOf(c *config.Config, g config.Grant) permission.Grant {
	out := permission.Grant{Entry: g.Entry, Definition: g.Definition, Package: g.Package, File: g.File, Line: g.Line}
	if tool, ok := strings.CutPrefix(g.Tool, "local."); ok {
		out.Tool = tool
		return out
	}
	rest := strings.TrimPrefix(g.Tool, "mcp.")
	out.Server, out.Tool, _ = strings.Cut(rest, ".")
	for _, s := range c.Servers {
		if tool, ok := strings.CutPrefix(rest, s.Name+"."); ok && len(s.Name) > len(out.Server) {
			out.Server, out.Tool = s.Name, tool
		}
	}
	return out
}

// ruleMaker compiles conditions; its compiler is made when the first one is there.
type ruleMaker struct{ compiler *condition.Compiler }

func (m *ruleMaker) rules(rules []config.Rule) []permission.Rule {
	var all []permission.Rule
	for _, r := range rules {
		one := permission.Rule{Pattern: r.Pattern, Entry: r.Entry, Scope: r.Source, File: r.File, Line: r.Line}
		if r.When != "" {
			one.When = m.condition(r.When)
		}
		all = append(all, one)
	}
	return all
}

func (m *ruleMaker) condition(source string) permission.Condition {
	if m.compiler == nil {
		c, err := condition.New()
		if err != nil {
			return permission.Broken(source, err)
		}
		m.compiler = c
	}
	c, err := m.compiler.Compile(source)
	if err != nil {
		return permission.Broken(source, err)
	}
	return c
}

// flowsOf makes what the configuration says of flows.
func flowsOf(c *config.Config) *usher.Flows {
	mode := map[string]usher.FlowMode{config.FlowsAsk: usher.FlowAsk, config.FlowsDeny: usher.FlowDeny, config.FlowsOff: usher.FlowOff}[c.Flows.Mode]
	var rules []usher.FlowRule
	for _, l := range c.Flows.Labels {
		traits, err := usher.FlowTraits(l.Labels)
		if err != nil {
			continue // a Problem of the configuration already
		}
		rules = append(rules, usher.FlowRule{Pattern: l.Pattern, Traits: traits, AddsOnly: l.Source == config.SourceProject || l.Source == config.SourceImported})
	}
	return usher.NewFlows(mode, rules, c.Flows.Inherit)
}

// modeOf is the mode of sessions that don't say: what the command line says, else the configuration.
func modeOf(o Options, c *config.Config) permission.Mode {
	if o.Mode != "" {
		if m, err := permission.ParseMode(o.Mode); err == nil {
			return m
		}
	}
	m, err := permission.ParseMode(c.Permissions.Mode)
	if c.Permissions.Mode == "" || err != nil {
		return permission.Default
	}
	return m
}
