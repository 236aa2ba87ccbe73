package permission

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/usher-mcp/usher/mcp"
)

// byArgument is a condition that looks at the arguments, and fails where they lack a path.
type byArgument struct{ want string }

func (b byArgument) Holds(c *Call) (bool, error) {
	args, err := c.Arguments()
	if err != nil {
		return false, err
	}
	path, ok := args["path"].(string)
	if !ok {
		return false, errors.New("no such key: path")
	}
	return path == b.want, nil
}

func (b byArgument) String() string { return b.want }

var (
	names    = rapid.SampledFrom([]string{"fs", "a", "a.b", "fs__x", "", "FS"})
	tools    = rapid.SampledFrom([]string{"read", "write", "b.read", "x__write", "Write", "drop(a:b)"})
	sources  = rapid.SampledFrom([]string{"", "managed", "command-line", "local", "project", "user", "imported"})
	entries  = rapid.SampledFrom([]string{"", "e1", "e2"})
	packages = rapid.SampledFrom([]string{"", "npm:x@1", "npm:x@2"})
	whens    = rapid.SampledFrom([]Condition{nil, nil, fixed("holds"), fixed("doesn't"), fixed("fails"), byArgument{"/etc/x"}, Broken("?", errors.New("bad"))})
	patterns = rapid.SampledFrom([]string{
		"*", "mcp.*", "mcp.fs.*", "mcp__fs__write", "mcp.a.b.read", "mcp.a.*", "local.*", "read", "mcp.fs.write(path:/etc/**)", "mcp.fs.*(path:/tmp/*)",
		"*(path:**)", "*(path:/etc/x, n:1*)", "mcp.fs.write(", "mcp.fs.*(x)", "MCP.fs.WRITE", "mcp.*.drop(a:b)", "", "(x:y)",
	})
	arguments_ = rapid.SampledFrom([]string{
		"", "{}", `{"path":"/etc/x"}`, `{"path":"/tmp/../etc/x"}`, `{"path":"/tmp/x","n":12}`, `{"PATH":["/ETC/x"],"n":1e1}`, `{"path":{"path":"/etc/x"}}`, `{"path"`, `[]`,
	})
	hint = rapid.SampledFrom([]*bool{nil, yes(), no()})
)

func anyRule(t *rapid.T) Rule {
	return Rule{Pattern: patterns.Draw(t, "pattern"), When: whens.Draw(t, "when"), Entry: entries.Draw(t, "entry"), Scope: sources.Draw(t, "scope")}
}

func anyRules(t *rapid.T, list string) []Rule {
	return rapid.SliceOfN(rapid.Custom(anyRule), 0, 4).Draw(t, list)
}

func anyCall(t *rapid.T) Call {
	return Call{
		Target: Target{names.Draw(t, "server"), tools.Draw(t, "tool")}, Model: rapid.SampledFrom([]string{"", "mcp__fs__write"}).Draw(t, "model"),
		Source: sources.Draw(t, "source"), Entry: entries.Draw(t, "entry"), Definition: entries.Draw(t, "definition"), Package: packages.Draw(t, "package"),
		Args: json.RawMessage(arguments_.Draw(t, "args")), Annotations: mcp.Annotations{ReadOnly: hint.Draw(t, "reads"), Destructive: hint.Draw(t, "destroys")},
		Risk: Risk(rapid.IntRange(0, 5).Draw(t, "risk")), Builtin: rapid.Bool().Draw(t, "builtin"), Granted: rapid.Bool().Draw(t, "granted"),
		Mode: Mode(rapid.IntRange(0, 5).Draw(t, "mode")),
	}
}

func anyGrant(t *rapid.T) Grant {
	return Grant{Target: Target{names.Draw(t, "server"), tools.Draw(t, "tool")}, Entry: entries.Draw(t, "entry"), Definition: entries.Draw(t, "definition"), Package: packages.Draw(t, "package")}
}

func anyPolicy(t *rapid.T) *Policy {
	p := &Policy{Deny: anyRules(t, "deny"), Ask: anyRules(t, "ask"), Allow: anyRules(t, "allow"), Grants: rapid.SliceOfN(rapid.Custom(anyGrant), 0, 3).Draw(t, "grants")}
	if rapid.Bool().Draw(t, "limited") {
		p.Modes = []Mode{Mode(rapid.IntRange(0, 4).Draw(t, "may"))}
	}
	if rapid.Bool().Draw(t, "labelled") {
		p.Labels = map[string]Label{"mcp.fs.write": {Risk: Network}}
	}
	return p
}

// with copies the policy with other lists: a Policy in use can't be changed.
func (p *Policy) with(deny, ask, allow []Rule) *Policy {
	return &Policy{Deny: deny, Ask: ask, Allow: allow, Grants: p.Grants, Modes: p.Modes, Labels: p.Labels}
}

func insert(t *rapid.T, rules []Rule, r Rule) []Rule {
	return slices.Insert(slices.Clone(rules), rapid.IntRange(0, len(rules)).Draw(t, "at"), r)
}

// F1: a rule more in the deny or ask list never lets more run, wherever it stands and whosever it is; a rule more in the
// allow list never lets less run.
func TestMoreRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c, r := anyPolicy(t), anyCall(t), anyRule(t)
		was := p.Decide(c)
		if now := p.with(insert(t, p.Deny, r), p.Ask, p.Allow).Decide(c); now.Effect > was.Effect {
			t.Fatalf("a deny rule more: %v became %v", was.Effect, now.Effect)
		}
		if now := p.with(p.Deny, insert(t, p.Ask, r), p.Allow).Decide(c); now.Effect > was.Effect {
			t.Fatalf("an ask rule more: %v became %v", was.Effect, now.Effect)
		}
		if now := p.with(p.Deny, p.Ask, insert(t, p.Allow, r)).Decide(c); now.Effect < was.Effect {
			t.Fatalf("an allow rule more: %v became %v", was.Effect, now.Effect)
		}
	})
}

// F1: the order of the rules in a list never matters.
func TestOrderInAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		other := p.with(rapid.Permutation(p.Deny).Draw(t, "deny"), rapid.Permutation(p.Ask).Draw(t, "ask"), rapid.Permutation(p.Allow).Draw(t, "allow"))
		if a, b := p.Decide(c), other.Decide(c); a.Effect != b.Effect || a.SourcedFrom != b.SourcedFrom && a.Actor != "rule" {
			t.Fatalf("%v from %s, and in another order %v from %s", a.Effect, a.SourcedFrom, b.Effect, b.SourcedFrom)
		}
		if p.Version() != other.Version() {
			t.Fatal("the order counts in the version")
		}
	})
}

// F7: in dont-ask nothing asks, and what no rule, grant or list is about doesn't run.
func TestDontAsk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		p.Modes, c.Mode = nil, DontAsk
		d := p.Decide(c)
		if d.Effect == Ask {
			t.Fatal("it asks")
		}
		if d.Effect == Allow && d.Actor != "rule" && d.Grant == nil && !c.Granted && !c.Builtin {
			t.Fatalf("it runs by %s", d.SourcedFrom)
		}
		if d := (&Policy{}).Decide(Call{Target: c.Target, Args: c.Args, Risk: c.Risk, Annotations: c.Annotations, Mode: DontAsk}); d.Effect != Deny {
			t.Fatalf("without a rule it runs by %s", d.SourcedFrom)
		}
	})
}

// F7, F2: in no mode does a destructive call run unasked; plan runs only reads; each mode but bypass and accept-reads
// lets run at most what the default lets run.
func TestModesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		d := p.Decide(c)
		if d.Effect == Allow && (c.Risk == 0 || c.Risk >= Destructive) {
			t.Fatalf("a destructive call runs by %s", d.SourcedFrom)
		}
		if d.Effect == Allow && p.ModeOf(c.Mode) == Plan && c.Risk != Read {
			t.Fatalf("plan runs a %v", c.Risk)
		}
		was := d.Effect
		mode := p.ModeOf(c.Mode)
		p = p.with(p.Deny, p.Ask, p.Allow)
		p.Modes, c.Mode = nil, Default
		byDefault := p.Decide(c).Effect
		if (mode == Plan || mode == DontAsk) && was > byDefault || (mode == Bypass || mode == AcceptReads) && was < byDefault {
			t.Fatalf("%v, and by default %v", was, byDefault)
		}
	})
}

// F3: whatever a project's file brings, it never widens anything: neither its rules, of any list, nor others' rules
// for its servers.
func TestProjectNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		more := p.with(slices.Clone(p.Deny), slices.Clone(p.Ask), slices.Clone(p.Allow))
		for _, list := range []*[]Rule{&more.Deny, &more.Ask, &more.Allow} {
			for _, r := range anyRules(t, "project") {
				r.Scope = "project"
				*list = insert(t, *list, r)
			}
		}
		if was, now := p.Decide(c).Effect, more.Decide(c).Effect; now > was {
			t.Fatalf("%v became %v", was, now)
		}
		if c.Server == "" {
			return
		}
		c.Source, c.Granted, c.Risk, c.Mode = "project", false, Network, Default
		p = p.with(p.Deny, p.Ask, p.Allow)
		p.Modes = nil
		if d := p.Decide(c); d.Effect == Allow && d.Grant == nil && (d.Rule == nil || d.Rule.Entry == "" || d.Rule.Entry != c.Entry) {
			t.Fatalf("a project's server runs by %+v", d)
		}
	})
}

// F8: Explain comes to the decision that Decide comes to; Decide says the same twice.
func TestExplainAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		d := p.Decide(c)
		if again := p.Decide(c); again != d {
			t.Fatalf("%+v, and then %+v", d, again)
		}
		var decided []Step
		for _, s := range p.Explain(c) {
			if s.Why == "" {
				t.Fatalf("no reason: %+v", s)
			}
			if s.Decided {
				decided = append(decided, s)
			}
		}
		if len(decided) != 1 || decided[0].Effect != d.Effect || decided[0].Rule != d.Rule || decided[0].Grant != d.Grant || !decided[0].Matched {
			t.Fatalf("decided: %+v, explained: %+v", d, decided)
		}
	})
}

// An outlook is never darker than what a call comes to where only conditional rules forbid, and hidden means denied.
func TestDeniedMeansDenied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c := anyPolicy(t), anyCall(t)
		if p.Denied(c.Target, c.Model) && p.Decide(c).Effect != Deny {
			t.Fatal("hidden, and not denied")
		}
	})
}
