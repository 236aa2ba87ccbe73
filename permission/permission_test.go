package permission

import (
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// F2: hints lower the risk only where they are trusted, and raise it always.
func TestAssess(t *testing.T) {
	for _, c := range []struct {
		name    string
		a       mcp.Annotations
		trusted bool
		want    Risk
	}{
		{"no hints", mcp.Annotations{}, true, Network},
		{"read, trusted", mcp.Annotations{ReadOnly: yes()}, true, Read},
		{"read, untrusted", mcp.Annotations{ReadOnly: yes()}, false, Network},
		{"local write, trusted", mcp.Annotations{Destructive: no(), OpenWorld: no()}, true, Write},
		{"local write, untrusted", mcp.Annotations{Destructive: no(), OpenWorld: no()}, false, Network},
		{"destroys, untrusted", mcp.Annotations{Destructive: yes()}, false, Destructive},
		{"reads and destroys", mcp.Annotations{ReadOnly: yes(), Destructive: yes()}, true, Destructive},
	} {
		if got := Assess(c.a, c.trusted); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// F3, E2: both spellings; a rule for one server reaches no other.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern      string
		server, tool string
		allow, deny  bool
	}{
		{"mcp.jira.get_issue", "jira", "get_issue", true, true},
		{"mcp.jira.get_*", "jira", "get_issue", true, true},
		{"mcp.jira.get_*", "jira", "forget_issue", false, false},
		{"mcp__jira__get_*", "jira", "get_issue", true, true},
		{"mcp.jira.*", "jira", "a.b", true, true},
		{"mcp.jira", "jira", "x", true, true},
		{"mcp.fs.*", "fs-v2", "x", false, false},
		{"mcp.fs.*", "fs.evil", "x", false, true}, // reads alike: a deny counts, an allow doesn't
		{"mcp__a__*", "a__b", "x", false, true},
		{"mcp.a.b.c", "a.b", "c", true, true},
		{"mcp.a.b.c", "a", "b.c", true, true},
		{"mcp.*", "x", "y", true, true},
		{"mcp.*.delete_*", "x", "delete_all", true, true},
		{"mcp.*.delete_*", "x.y", "delete_all", false, true},
		{"*", "x", "y", true, true},
		{"*", "", "read_file", true, true},
		{"read_*", "", "read_file", true, true},
		{"read_*", "fs", "read_file", false, false},
		{"local.read_file", "", "read_file", true, true},
		{"local__read_file", "", "read_file", true, true},
		{"mcp.*", "", "read_file", false, false},
		{"local.*", "local", "x", false, false},
		{"mcp.a*c.*", "abc", "x", true, true},
		{"mcp.a.*x*y", "a", "1x2y", true, true},
		{"mcp.a.x*x", "a", "x", false, false},
	} {
		r, target := Rule{Pattern: c.pattern}, Target{c.server, c.tool}
		if got := r.Permits(target); got != c.allow {
			t.Errorf("allow %s matches (%s, %s): %v", c.pattern, c.server, c.tool, got)
		}
		if got := r.Reaches(target); got != c.deny {
			t.Errorf("deny %s reaches (%s, %s): %v", c.pattern, c.server, c.tool, got)
		}
	}
}

// F1, F2, F6: the order of the lists, and what asks whatever they say.
func TestDecide(t *testing.T) {
	rule := func(p string) []Rule { return []Rule{{Pattern: p, Scope: "user"}} }
	get := Target{"jira", "get_issue"}
	for _, c := range []struct {
		name string
		p    *Policy
		c    Call
		want Effect
		from string
	}{
		{"a read passes", &Policy{}, Call{Target: get, Risk: Read}, Allow, "default"},
		{"network asks", &Policy{}, Call{Target: get, Risk: Network}, Ask, "default"},
		{"a write asks", &Policy{}, Call{Target: get, Risk: Write}, Ask, "default"},
		{"no risk known asks", &Policy{Allow: rule("*")}, Call{Target: get}, Ask, "default"},
		{"allowed", &Policy{Allow: rule("mcp.jira.*")}, Call{Target: get, Risk: Network}, Allow, "rule:user"},
		{"ask before allow, however specific", &Policy{Ask: rule("*"), Allow: rule("mcp.jira.get_issue")}, Call{Target: get, Risk: Read}, Ask, "rule:user"},
		{"deny before all", &Policy{Deny: rule("*"), Ask: rule("*"), Allow: rule("*")}, Call{Target: get, Risk: Read, Granted: true, Builtin: true}, Deny, "rule:user"},
		{"destructive asks though allowed", &Policy{Allow: rule("*")}, Call{Target: get, Risk: Destructive, Granted: true}, Ask, "default"},
		{"granted for the session", &Policy{}, Call{Target: get, Risk: Network, Granted: true}, Allow, "session_allow"},
		{"granted though a rule asks", &Policy{Ask: rule("*")}, Call{Target: get, Risk: Network, Granted: true}, Allow, "session_allow"},
		{"built in", &Policy{}, Call{Target: Target{"", "x"}, Risk: Read, Builtin: true}, Allow, "builtin"},
		{"built in, and not only a read", &Policy{}, Call{Target: Target{"", "x"}, Risk: Write, Builtin: true}, Ask, "default"},
		{"denied by its name toward models", &Policy{Deny: rule("mcp__jira__get_issue_1234")}, Call{Target: Target{"jira", "get.issue"}, Model: "mcp__jira__get_issue_1234", Risk: Read}, Deny, "rule:user"},
		{"allowed by its name toward models, which could be another's", &Policy{Allow: rule("mcp__jira__get_issue_1234")}, Call{Target: Target{"jira", "get.issue"}, Model: "mcp__jira__get_issue_1234", Risk: Network}, Ask, "default"},
	} {
		got := c.p.Decide(c.c)
		if got.Effect != c.want || got.SourcedFrom != c.from {
			t.Errorf("%s: %v from %s, want %v from %s", c.name, got.Effect, got.SourcedFrom, c.want, c.from)
		}
	}
}

// F2: a label holds for the definition that the user saw, and for no other.
func TestLabelHoldsAtItsHash(t *testing.T) {
	get := Target{"fs", "write_file"}
	p := &Policy{Labels: map[string]Label{"mcp.fs.write_file": {Risk: Write, Hash: "sha256:1"}}}
	if got := p.RiskOf(get, "sha256:1", Destructive); got != Write {
		t.Errorf("at its hash: %v", got)
	}
	if got := p.RiskOf(get, "sha256:2", Destructive); got != Destructive {
		t.Errorf("at another hash: %v", got)
	}
	p.Labels["mcp.fs.write_file"] = Label{Risk: Destructive, Hash: "sha256:1"}
	if got := p.RiskOf(get, "sha256:2", Network); got != Destructive {
		t.Errorf("a changed definition shed the user's label: %v", got)
	}
	p.Labels["mcp.fs.write_file"] = Label{Risk: Execute}
	if got := p.RiskOf(get, "sha256:2", Destructive); got != Destructive {
		t.Errorf("without a hash it lowered the risk: %v", got)
	}
	if got := p.RiskOf(get, "sha256:2", Write); got != Execute {
		t.Errorf("without a hash it did not raise the risk: %v", got)
	}
}
