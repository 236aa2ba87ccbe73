package config

import (
	"fmt"
	"slices"
	"strings"
)

// Admitted is a server that may run. Only Admit makes one that has a server, so whoever takes an Admitted can't be given
// what was never held against trust and policy.
type Admitted struct{ server *Server }

// Server returns the entry. That of the zero Admitted is empty, which nothing can start.
func (a Admitted) Server() Server {
	if a.server == nil {
		return Server{}
	}
	return *a.server
}

// Refused says why a server may not run.
type Refused struct {
	Server    string
	Reason    string
	Untrusted bool // it is a project's, and the user hasn't trusted it; that can be changed
}

var _ error = (*Refused)(nil)

// Error is a sentence for people.
func (r *Refused) Error() string {
	return fmt.Sprintf("the server %s may not run: %s", quoteName(r.Server), r.Reason)
}

// gate is what Admit, Check and Show go by.
type gate struct {
	policy
	exclusive Place    // of the administrator's list of servers; its File is "": there is none
	profile   *Profile // the administrator's; nil: they leave it to the user
	folder    string
	trusted   func(folder, name, hash string) bool
	advance   []policyEntry
	layers    []layer // what was merged, the strongest first
}

func (l *loader) newGate() *gate {
	g := &gate{folder: l.folder, trusted: l.Trusted, layers: l.layers}
	only := slices.ContainsFunc(l.layers, func(p layer) bool { return p.policy != nil && p.policy.only })
	for _, p := range l.layers {
		if p.policy == nil {
			continue
		}
		g.denied = append(g.denied, p.policy.denied...)
		if p.policy.unclearDeny != nil {
			g.unclearDeny = p.policy.unclearDeny
		}
		if p.source == SourceManaged {
			g.advance, g.exclusive = p.policy.trusted, p.policy.exclusive
			if p.cfg.says("profile") {
				g.profile = &p.cfg.Profile
			}
		}
		if p.source != SourceManaged && only {
			continue
		}
		g.allowed = append(g.allowed, p.policy.allowed...)
		if g.allowedAt.File == "" {
			g.allowedAt = p.policy.allowedAt
		}
	}
	return g
}

// exclusiveOf says why a source has no servers, or "".
func (g *gate) exclusiveOf(source string) string {
	if g == nil || g.exclusive.File == "" || source == SourceManaged {
		return ""
	}
	return "the administrator's file names all servers there are (" + g.exclusive.String() + ")"
}

// refused says why the policy in force refuses a server, or "". It doesn't look at trust.
func (c *Config) refused(s *Server) string {
	if c.gate == nil {
		return ""
	}
	if why := c.gate.exclusiveOf(s.Source); why != "" {
		return why
	}
	if p := c.gate.profile; p != nil && !slices.Contains(p.Transports, s.Transport) {
		return "it is of type " + s.Transport + ", and the administrator's profile " + p.Name + " has only " + strings.Join(p.Transports, ", ")
	}
	return c.gate.decide(s)
}

// Check holds a server against the policy and, where it is a project's, against the user's trust, as they are now. It is
// for each dial, also of a server that was admitted before; nil means that it may run. The error is a *Refused.
func (c *Config) Check(s *Server) error {
	if why := c.refused(s); why != "" {
		return &Refused{Server: s.Name, Reason: why}
	}
	if s.Source == SourceProject && !c.trusts(s) {
		return untrusted(s)
	}
	return nil
}

func (c *Config) trusts(s *Server) bool {
	g := c.gate
	if g == nil {
		return false
	}
	if g.trusted != nil && g.trusted(g.folder, s.Name, s.Hash) {
		return true
	}
	a, clear := addressOf(s.URL)
	return slices.ContainsFunc(g.advance, func(e policyEntry) bool { return e.vouches(s, a, clear, g.folder) })
}

func untrusted(s *Server) error {
	return &Refused{s.Name, "it came with this folder (" + Place{s.File, s.Line}.String() + ") and isn't trusted yet", true}
}

// Admit returns the server of a name, if it may run. The error is a *Refused that says why not; a disabled server is
// refused, too.
func (c *Config) Admit(name string) (Admitted, error) {
	at := func(all []Server) int { return slices.IndexFunc(all, func(s Server) bool { return s.Name == name }) }
	if i := at(c.Servers); i >= 0 {
		s := &c.Servers[i]
		if s.Disabled {
			return Admitted{}, &Refused{Server: name, Reason: "it is disabled in " + Place{s.File, s.Line}.String()}
		}
		if err := c.Check(s); err != nil {
			return Admitted{}, err
		}
		return Admitted{s}, nil
	}
	if i := slices.IndexFunc(c.Blocked, func(b Blocked) bool { return b.Server.Name == name }); i >= 0 {
		return Admitted{}, &Refused{Server: name, Reason: c.Blocked[i].Reason}
	}
	if i := at(c.Pending); i >= 0 {
		return Admitted{}, untrusted(&c.Pending[i])
	}
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	_, why, _ := strings.Cut(noServer(name, names).Error(), "; ")
	return Admitted{}, &Refused{Server: name, Reason: "it isn't in the configuration; " + why}
}

// Admitted returns all servers that may run, in the order of Servers.
func (c *Config) Admitted() []Admitted {
	var all []Admitted
	for _, s := range c.Servers {
		if a, err := c.Admit(s.Name); err == nil {
			all = append(all, a)
		}
	}
	return all
}
