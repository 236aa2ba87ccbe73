package foreign

import (
	"bytes"
	"slices"
	"strings"
)

// State is what becomes of an entry.
type State string

// The states. A rule has Added, Present or Left.
const (
	Added    State = "added"
	Present  State = "present"  // imported.json has it already
	Same     State = "same"     // another entry of this import, or of the user's own file, is the same server
	Conflict State = "conflict" // another server has the name
	Left     State = "left"     // Why says it
)

// Planned is an entry and what becomes of it.
type Planned struct {
	Entry        // under the name that it gets
	From  string // the ID that it has in its product
	State State
	With  string // the other server, where the state is about one
	Why   string
}

// PlannedRule is a rule and what becomes of it.
type PlannedRule struct {
	Rule
	Text  string // the pattern
	State State
	Why   string
}

// Plan is what an import would write.
type Plan struct {
	Servers  []Planned
	Rules    []PlannedRule
	Notes    []Note
	Secrets  []Secret // of the servers that are added
	Earlier  []Secret // of those that were imported before, as far as imported.json still refers to them
	Old, New []byte   // of imported.json
}

// Input is what a plan is made of.
type Input struct {
	Readings []*Reading        // earlier ones win a name
	Imported []byte            // imported.json as it is
	User     []byte            // the user's own file as it is, whose servers come first
	As       map[string]string // names by the ID of an entry; these come first
	Shared   bool              // take over also what others may have written
}

// Make plans an import. An error is about imported.json, which is left alone then.
func Make(in Input) (*Plan, error) {
	imported, err := readOwn(in.Imported)
	if err != nil {
		return nil, err
	}
	user, _ := readOwn(in.User) // whose mistakes are told elsewhere
	p := &planner{in: in, plan: &Plan{Old: in.Imported}, imported: imported, user: user, final: map[string]string{}, names: map[string]Planned{}, ids: map[string]Planned{}, claimed: map[string]bool{}}
	p.servers()
	p.rules()
	if p.plan.New, err = compose(in.Imported, p.plan); err != nil {
		return nil, err
	}
	return p.plan, nil
}

type planner struct {
	in             Input
	plan           *Plan
	imported, user ownFile
	names          map[string]Planned // added, by name
	ids            map[string]Planned // added or present, by identity
	claimed        map[string]bool    // servers of imported.json that an entry of the same name is
	final          map[string]string  // by ID and file: the name in imported.json
}

func (p *planner) servers() {
	var first, rest []Entry
	for _, r := range p.in.Readings {
		p.plan.Notes = append(p.plan.Notes, r.Notes...)
		for _, e := range r.Entries {
			if _, ok := p.in.As[e.ID()]; ok {
				first = append(first, e)
			} else {
				rest = append(rest, e)
			}
		}
	}
	all := append(first, rest...)
	for _, e := range all {
		name := p.nameOf(e)
		p.claimed[name] = p.claimed[name] || p.imported.same(e.named(name), nil) == name
	}
	for _, e := range all {
		planned := p.server(e)
		if planned.State == Added || planned.State == Present || planned.State == Same && planned.Why == "" {
			p.final[e.ID()+"\x00"+e.Where.File] = planned.Name
		}
		p.plan.Servers = append(p.plan.Servers, planned)
	}
}

func (p *planner) nameOf(e Entry) string {
	if as, ok := p.in.As[e.ID()]; ok {
		return as
	}
	return e.Name
}

// server decides about one entry.
func (p *planner) server(e Entry) Planned {
	out := Planned{Entry: e, From: e.ID()}
	name := p.nameOf(e)
	left := func(state State, with, why string) Planned {
		out.State, out.With, out.Why = state, with, why
		return out
	}
	switch why := e.refused(name); {
	case e.usher():
		return left(Left, "", "it is usher itself")
	case why != "":
		return left(Left, "", why)
	}
	out.Entry = e.named(name)
	if other, ok := p.ids[e.identity]; ok {
		out.Entry.Name = other.Name
		return left(Same, other.From, "")
	}
	if other := p.user.same(out.Entry, nil); other != "" {
		return left(Same, other, "it is in your own configuration")
	}
	if other := p.imported.same(out.Entry, p.claimed); other != "" {
		p.claimed[other] = true
		for _, s := range e.named(other).Secrets {
			if bytes.Contains(p.in.Imported, []byte("${keyring:"+s.Name+"}")) {
				p.plan.Earlier = append(p.plan.Earlier, s)
			}
		}
		out.Entry.Name = other
		out = left(Present, other, "")
		p.ids[e.identity] = out
		return out
	}
	switch {
	case e.Shared && !e.Named && !p.in.Shared:
		out.Entry.Name = name
		return left(Left, "", "it stands in a project's folder, where others may have written it")
	case p.user.has(name):
		return left(Conflict, name, "your own configuration has another server of this name")
	case p.imported.has(name):
		return left(Conflict, name, "another server of this name was imported before")
	}
	if other, ok := p.names[name]; ok {
		return left(Conflict, other.From, "another server has this name")
	}
	out.State = Added
	p.names[name], p.ids[e.identity] = out, out
	p.plan.Secrets = append(p.plan.Secrets, out.Entry.Secrets...)
	return out
}

func (p *planner) rules() {
	seen := map[string]bool{}
	for _, r := range p.in.Readings {
		for _, rule := range r.Rules {
			out := PlannedRule{Rule: rule, Text: rule.Pattern(rule.Server)}
			name, why := p.serverOf(rule)
			if why == "" {
				out.Text = rule.Pattern(name)
				why = refusedRule(out)
			}
			key := out.List + "\x00" + out.Text + "\x00" + out.When
			switch {
			case why != "":
				out.State, out.Why = Left, why
			case seen[key] || p.imported.rules[key]:
				out.State = Present
			default:
				out.State = Added
			}
			seen[key] = true
			p.plan.Rules = append(p.plan.Rules, out)
		}
	}
}

// serverOf is the name in imported.json of the server that a rule is about, or why the rule is left.
func (p *planner) serverOf(r Rule) (name, why string) {
	if r.Shared && !r.Named && !p.in.Shared {
		return "", "it stands in a project's folder, where others may have written it"
	}
	if r.Server == "*" {
		return "*", ""
	}
	if name, ok := p.final[r.Product+":"+r.Server+"\x00"+r.Where.File]; ok {
		return name, ""
	}
	for _, s := range p.plan.Servers { // a file of rules only, with names as they are in tools
		product, original, _ := strings.Cut(s.From, ":")
		final, taken := p.final[s.From+"\x00"+s.Where.File]
		if taken && product == r.Product && sanitised(original) == sanitised(r.Server) && !s.Shared {
			return final, ""
		}
	}
	return "", "its server isn't taken over"
}

// Count returns how many servers and rules would be written.
func (p *Plan) Count() (servers, rules int) {
	for _, s := range p.Servers {
		if s.State == Added {
			servers++
		}
	}
	for _, r := range p.Rules {
		if r.State == Added {
			rules++
		}
	}
	return servers, rules
}

// Changes reports whether there is anything to write.
func (p *Plan) Changes() bool { return !slices.Equal(p.Old, p.New) }
