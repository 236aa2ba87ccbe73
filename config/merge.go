package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// strengths are the sources, the strongest first. Read only.
var strengths = []string{SourceManaged, SourceCommandLine, SourceLocal, SourceProject, SourceUser, SourceImported}

// merge makes one configuration of the parts. It starts with an empty one and takes from each part only what its source
// may say, so that what a project's file says otherwise reaches nothing, whatever the reader made of it.
func (l *loader) merge() *Config {
	slices.SortStableFunc(l.layers, func(a, b layer) int {
		return cmp.Compare(slices.Index(strengths, a.source), slices.Index(strengths, b.source))
	})
	c := empty(l.User)
	c.Files, c.Folder = l.files, l.folder
	c.gate = l.newGate()
	for _, p := range l.layers {
		c.Problems = appendNew(c.Problems, p.problems()...)
		for _, s := range p.cfg.Secrets() {
			c.secrets.add(s)
		}
		c.takeRules(p)
	}
	l.takeSettings(c)
	c.takeServers(l)
	c.boundLabels()
	c.Problems = append(c.Problems, l.broken...)
	c.unclear(l)
	return c
}

func (p layer) problems() []Problem {
	all := slices.Clone(p.cfg.Problems)
	if p.policy != nil {
		all = append(all, p.policy.cfg.Problems...)
	}
	slices.SortStableFunc(all, comparePlace)
	return all
}

// appendNew leaves out what was said of that place before.
func appendNew(all []Problem, more ...Problem) []Problem {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(q Problem) bool {
			return q.File == p.File && q.Line == p.Line && q.Column == p.Column && q.Field == p.Field
		}) {
			all = append(all, p)
		}
	}
	return all
}

// takeRules keeps the order of strength, which matters to what is shown, not to what is decided.
func (c *Config) takeRules(p layer) {
	to, from := &c.Permissions, p.cfg.Permissions
	to.Deny = append(to.Deny, from.Deny...)
	to.Ask = append(to.Ask, from.Ask...)
	to.Incomplete = to.Incomplete || from.Incomplete
	c.Flows.Labels = append(c.Flows.Labels, labelsOf(p)...)
	if p.source == SourceProject {
		return
	}
	to.Allow = append(to.Allow, from.Allow...)
	if p.source != SourceImported && p.source != SourceCommandLine {
		to.Grants = append(to.Grants, from.Grants...)
	}
	for name, label := range from.Risk {
		if p.source == SourceImported {
			label.Hash = "" // it can only raise the risk then
		}
		if _, taken := to.Risk[name]; !taken {
			if to.Risk == nil {
				to.Risk = map[string]RiskLabel{}
			}
			to.Risk[name] = label
		}
	}
}

// labelsOf leaves out what a project or a copy would take away: labels that are none replace what is known of a tool.
func labelsOf(p layer) []FlowLabels {
	if p.source != SourceProject && p.source != SourceImported {
		return p.cfg.Flows.Labels
	}
	return slices.DeleteFunc(slices.Clone(p.cfg.Flows.Labels), func(f FlowLabels) bool { return len(f.Labels) == 0 })
}

// takeSettings takes each setting whole from the strongest of those who may say it: the administrator, the user, and for
// the mode also the command line and what is local.
func (l *loader) takeSettings(c *Config) {
	for _, p := range slices.Backward(l.layers) {
		from := p.cfg
		if p.source != SourceManaged && p.source != SourceUser {
			if (p.source == SourceLocal || p.source == SourceCommandLine) && from.says("permissions.mode") {
				c.Permissions.Mode = from.Permissions.Mode
			}
			continue
		}
		take(from, "log.durability", &c.Log.Durability, from.Log.Durability)
		take(from, "log.dir", &c.Log.Dir, from.Log.Dir)
		take(from, "profile", &c.Profile, from.Profile)
		take(from, "locale", &c.Locale, from.Locale)
		take(from, "errors", &c.Errors, from.Errors)
		take(from, "approvals.wait", &c.Approvals.Wait, from.Approvals.Wait)
		take(from, "approvals.keep", &c.Approvals.Keep, from.Approvals.Keep)
		take(from, "flows.mode", &c.Flows.Mode, from.Flows.Mode)
		take(from, "flows.inherit", &c.Flows.Inherit, from.Flows.Inherit)
		take(from, "permissions.mode", &c.Permissions.Mode, from.Permissions.Mode)
		if p.source == SourceManaged {
			c.Permissions.Modes = from.Permissions.Modes
		}
	}
	c.Approvals.Keep = max(c.Approvals.Keep, c.Approvals.Wait)
}

func take[T any](from *Config, path string, to *T, value T) {
	if from.says(path) {
		*to = value
	}
}

// boundLabels keeps a label from lowering the risk of a tool whose server is a project's or a copy: it was given for
// another server of that name. Without a hash it can only raise it.
func (c *Config) boundLabels() {
	for name, label := range c.Permissions.Risk {
		for _, s := range c.Servers {
			if s.Source == SourceProject || s.Source == SourceImported {
				if strings.HasPrefix(name, "mcp."+s.Name+".") || strings.HasPrefix(name, "mcp__"+s.Name+"__") {
					label.Hash = ""
				}
			}
		}
		c.Permissions.Risk[name] = label
	}
}

// unclear collects why everything asks.
func (c *Config) unclear(l *loader) {
	c.Unclear = append(c.Unclear, l.broken...)
	for _, p := range l.layers {
		if !p.cfg.Permissions.Incomplete {
			continue
		}
		at := Problem{File: p.name, Line: 1, Column: 1, Field: "permissions", Message: "a part can't be read"}
		for _, q := range p.cfg.Problems {
			if strings.Contains(q.Field, "permissions") {
				at = q
				break
			}
		}
		c.Unclear = append(c.Unclear, at)
	}
	c.Permissions.Incomplete = len(c.Unclear) > 0
}

// takeServers lets the strongest entry of each name win, and holds the winners against the policy.
func (c *Config) takeServers(l *loader) {
	taken := map[string]Server{}
	for _, p := range l.layers {
		for _, s := range p.cfg.Servers {
			if why := l.leftOut(c, s); why != "" {
				c.Blocked = append(c.Blocked, Blocked{s, why})
				continue
			}
			if p.source == SourceProject && !c.trusts(&s) { // whatever the reader says
				c.Pending = append(c.Pending, s)
				continue
			}
			if by, ok := taken[s.Name]; ok {
				c.Shadowed = append(c.Shadowed, Shadowed{s, by})
				continue
			}
			taken[s.Name] = s
		}
		for name, line := range p.brokenNames() {
			if _, ok := taken[name]; !ok {
				taken[name] = Server{Name: name, Source: p.source, File: p.name, Line: line}
			}
		}
		for _, s := range p.cfg.Pending {
			if why := cmp.Or(l.leftOut(c, s), c.refused(&s)); why != "" {
				c.Blocked = append(c.Blocked, Blocked{s, why})
			} else {
				c.Pending = append(c.Pending, s)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		s := taken[name]
		switch why := c.refused(&s); {
		case s.Hash == "": // broken: nothing of that name runs
		case why != "" && !s.Disabled:
			c.Blocked = append(c.Blocked, Blocked{s, why})
		default:
			c.Servers = append(c.Servers, s)
		}
	}
}

// leftOut says why an entry takes no part at all.
func (l *loader) leftOut(c *Config, s Server) string {
	if why := c.gate.exclusiveOf(s.Source); why != "" {
		return why
	}
	if l.Strict && s.Source != SourceManaged && s.Source != SourceCommandLine {
		return "--strict-mcp-config leaves out all servers but those of --mcp-config"
	}
	return ""
}

// brokenNames is the names of entries that can't be used, and their lines. They keep weaker entries of that name from
// running in their place, which would be another server than the one that was meant; only a project's don't.
func (p layer) brokenNames() map[string]int {
	if p.source == SourceProject || p.cfg.file == nil {
		return nil
	}
	names := maps.Clone(p.cfg.file.names)
	for _, s := range p.cfg.Servers {
		delete(names, s.Name)
	}
	return names
}
