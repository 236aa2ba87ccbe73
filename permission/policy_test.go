package permission

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/mcp"
)

// fixed is a condition with the same outcome for every call.
type fixed string

func (f fixed) Holds(*Call) (bool, error) {
	if f == "fails" {
		return true, errors.New("no such key: x")
	}
	return f == "holds", nil
}

func (f fixed) String() string { return string(f) }

func rules(patterns ...string) []Rule {
	var all []Rule
	for i, p := range patterns {
		all = append(all, Rule{Pattern: p, Scope: "user", File: "c.json", Line: i + 1})
	}
	return all
}

// F7: what each mode does with each risk, and with what rules say.
func TestModes(t *testing.T) {
	target := Target{"s", "t"}
	for _, c := range []struct {
		name string
		p    *Policy
		c    Call
		want string // for default, accept-reads, plan, dont-ask, bypass
	}{
		{"a read", &Policy{}, Call{Risk: Read}, "allow allow allow deny allow"},
		{"a built-in read", &Policy{}, Call{Risk: Read, Builtin: true}, "allow allow allow allow allow"},
		{"an allowed read", &Policy{Allow: rules("*")}, Call{Risk: Read}, "allow allow allow allow allow"},
		{"a write", &Policy{}, Call{Risk: Write}, "ask ask deny deny allow"},
		{"network", &Policy{}, Call{Risk: Network}, "ask ask deny deny allow"},
		{"execute", &Policy{}, Call{Risk: Execute}, "ask ask deny deny allow"},
		{"destructive", &Policy{Allow: rules("*")}, Call{Risk: Destructive, Granted: true}, "ask ask deny deny ask"},
		{"unknown", &Policy{Allow: rules("*")}, Call{}, "ask ask deny deny ask"},
		{"an allow rule", &Policy{Allow: rules("*")}, Call{Risk: Network}, "allow allow deny allow allow"},
		{"an ask rule", &Policy{Ask: rules("*")}, Call{Risk: Read}, "ask ask ask deny ask"},
		{"a deny rule", &Policy{Deny: rules("*"), Allow: rules("*")}, Call{Risk: Read, Builtin: true, Granted: true}, "deny deny deny deny deny"},
		{"granted for the session", &Policy{Ask: rules("*")}, Call{Risk: Network, Granted: true}, "allow allow deny allow allow"},
		{"claims to read", &Policy{}, Call{Risk: Network, Annotations: mcp.Annotations{ReadOnly: yes()}}, "ask allow deny deny allow"},
		{"claims to read, and an ask rule", &Policy{Ask: rules("*")}, Call{Risk: Network, Annotations: mcp.Annotations{ReadOnly: yes()}}, "ask ask deny deny ask"},
		{"contradicts itself", &Policy{}, Call{Risk: Network, Annotations: mcp.Annotations{ReadOnly: yes(), Destructive: yes()}}, "ask ask deny deny allow"},
		{"claims to read, and the user knows better", &Policy{Labels: map[string]Label{"mcp.s.t": {Risk: Network}}},
			Call{Risk: Network, Annotations: mcp.Annotations{ReadOnly: yes()}}, "ask ask deny deny allow"},
	} {
		c.c.Target = target
		var got []string
		for m := Default; m <= Bypass; m++ {
			c.c.Mode = m
			d := c.p.Decide(c.c)
			got = append(got, d.Effect.String())
			if d.Why == "" || d.Actor == "" || d.SourcedFrom == "" {
				t.Errorf("%s in %s: %+v lacks a reason", c.name, m, d)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if d := new(Policy).Decide(Call{Target: target, Risk: Read, Mode: 77}); d.Effect != Deny {
		t.Errorf("a mode that doesn't exist: %v", d.Effect)
	}
	d := (&Policy{}).Decide(Call{Target: target, Risk: Write, Mode: Plan})
	if diff := cmp.Diff(Decision{Effect: Deny, Actor: "policy", SourcedFrom: "mode", Why: "in the mode plan only reads run, and its risk is write"}, d); diff != "" {
		t.Error(diff)
	}
}

func TestModeNames(t *testing.T) {
	for m := Default; m <= Bypass; m++ {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("yolo"); err == nil || !strings.Contains(err.Error(), "accept-reads") {
		t.Errorf("yolo: %v", err)
	}
}

// G3: an administrator may leave only some modes.
func TestModesThatMayBeUsed(t *testing.T) {
	for _, c := range []struct {
		may        []Mode
		want, have Mode
	}{
		{nil, Bypass, Bypass},
		{[]Mode{Default, Plan}, Bypass, Default},
		{[]Mode{Default, Plan}, Plan, Plan},
		{[]Mode{DontAsk}, Bypass, DontAsk},
	} {
		if got := (&Policy{Modes: c.may}).ModeOf(c.want); got != c.have {
			t.Errorf("%v of %v: %v, want %v", c.want, c.may, got, c.have)
		}
	}
}

// F4: a grant holds for what it was given for, and a mismatch says what changed.
func TestGrants(t *testing.T) {
	target := Target{"fs", "write_file"}
	given := Grant{Target: target, Entry: "sha256:e", Definition: "sha256:d", Package: "npm:x@1.0.0"}
	call := Call{Target: target, Source: "project", Entry: "sha256:e", Definition: "sha256:d", Package: "npm:x@1.0.0", Risk: Network}
	for name, c := range map[string]struct {
		change func(*Grant, *Call, *Policy)
		want   Effect
		stale  string
	}{
		"as it was":             {func(*Grant, *Call, *Policy) {}, Allow, ""},
		"another entry":         {func(_ *Grant, c *Call, _ *Policy) { c.Entry = "sha256:f" }, Ask, "entry"},
		"another definition":    {func(_ *Grant, c *Call, _ *Policy) { c.Definition = "sha256:f" }, Ask, "definition"},
		"another package":       {func(_ *Grant, c *Call, _ *Policy) { c.Package = "npm:x@1.0.1" }, Ask, "npm:x@1.0.1"},
		"package not seen yet":  {func(_ *Grant, c *Call, _ *Policy) { c.Package = "" }, Allow, ""},
		"package seen only now": {func(g *Grant, _ *Call, _ *Policy) { g.Package = "" }, Ask, "wasn't known"},
		"bound to nothing":      {func(g *Grant, c *Call, _ *Policy) { g.Definition, c.Definition = "", "" }, Ask, "nothing"},
		"bound to no entry":     {func(g *Grant, c *Call, _ *Policy) { g.Entry, c.Entry = "", "" }, Ask, "nothing"},
		"destructive":           {func(_ *Grant, c *Call, _ *Policy) { c.Risk = Destructive }, Ask, ""},
		"an ask rule":           {func(_ *Grant, _ *Call, p *Policy) { p.Ask = rules("*") }, Ask, ""},
		"a deny rule":           {func(_ *Grant, _ *Call, p *Policy) { p.Deny = rules("*") }, Deny, ""},
		"of another tool":       {func(_ *Grant, c *Call, _ *Policy) { c.Tool = "read_file" }, Ask, ""},
		"a local tool has no entry": {func(g *Grant, c *Call, _ *Policy) {
			g.Target, g.Entry, c.Target, c.Entry = Target{"", "x"}, "", Target{"", "x"}, ""
		}, Allow, ""},
	} {
		g, call, p := given, call, &Policy{}
		c.change(&g, &call, p)
		p.Grants = []Grant{g}
		d := p.Decide(call)
		if d.Effect != c.want || (d.Stale == "") != (c.stale == "") || !strings.Contains(d.Stale, c.stale) {
			t.Errorf("%s: %v, stale: %q", name, d.Effect, d.Stale)
		}
		if d.Effect == Allow && (d.Grant != &p.Grants[0] || d.SourcedFrom != "always_allow") {
			t.Errorf("%s: allowed by %+v", name, d)
		}
	}
}

// F3: an allow rule reaches servers from its own source or a stronger one; a bound one its entry only.
func TestReach(t *testing.T) {
	sources := []string{"managed", "command-line", "local", "project", "user", "imported", "other"}
	for scope, reached := range map[string]string{
		"managed": "managed", "command-line": "managed command-line local user", "local": "managed command-line local user",
		"user": "managed command-line local user", "imported": "managed command-line local user imported", "project": "", "other": "",
	} {
		var got []string
		for _, source := range sources {
			call := Call{Target: Target{"s", "t"}, Source: source, Entry: "sha256:e", Risk: Network}
			p := &Policy{Allow: []Rule{{Pattern: "*", Scope: scope}}}
			if p.Decide(call).Effect == Allow {
				got = append(got, source)
			}
			bound := &Policy{Allow: []Rule{{Pattern: "*", Scope: scope, Entry: "sha256:e"}}}
			if got, want := bound.Decide(call).Effect == Allow, scope != "project"; got != want {
				t.Errorf("a bound rule of %s for %s: %v", scope, source, got)
			}
			call.Entry = "sha256:f"
			if bound.Decide(call).Effect == Allow {
				t.Errorf("a bound rule of %s reached another entry of %s", scope, source)
			}
			for _, p := range []*Policy{{Deny: []Rule{{Pattern: "*", Scope: scope}}}, {Deny: []Rule{{Pattern: "*", Scope: scope, Entry: "sha256:e"}}}} {
				if p.Decide(call).Effect != Deny {
					t.Errorf("a deny rule of %s doesn't reach %s", scope, source)
				}
			}
		}
		if got := strings.Join(got, " "); got != reached {
			t.Errorf("%s reaches %s, want %s", scope, got, reached)
		}
	}
	local := Call{Target: Target{"", "x"}, Risk: Write}
	if d := (&Policy{Allow: []Rule{{Pattern: "*", Scope: "managed"}}}).Decide(local); d.Effect != Allow {
		t.Errorf("an administrator's rule for a local tool: %v", d.Effect)
	}
}

// F3: a condition that fails counts against the call.
func TestConditions(t *testing.T) {
	for when, want := range map[Condition]string{
		fixed("holds"): "deny ask allow", fixed("doesn't"): "ask allow ask", fixed("fails"): "deny ask ask",
		Broken("x ==", errors.New("at character 5: it ends")): "deny ask ask",
	} {
		call := Call{Target: Target{"s", "t"}, Risk: Network}
		conditional := []Rule{{Pattern: "*", When: when}}
		got := strings.Join([]string{
			(&Policy{Deny: conditional}).Decide(call).Effect.String(),
			(&Policy{Ask: conditional, Allow: rules("*")}).Decide(call).Effect.String(),
			(&Policy{Allow: conditional}).Decide(call).Effect.String(),
		}, " ")
		if got != want {
			t.Errorf("%s: %s, want %s", textOf(when), got, want)
		}
	}
}

// F6: only a tool that is denied whatever its arguments are is hidden.
func TestDeniedAndOutlook(t *testing.T) {
	target := Target{"s", "t"}
	for _, c := range []struct {
		rule   Rule
		hidden bool
	}{
		{Rule{Pattern: "*"}, true},
		{Rule{Pattern: "*(a:b)"}, false},
		{Rule{Pattern: "*(a:b"}, true},
		{Rule{Pattern: "*", When: fixed("holds")}, false},
		{Rule{Pattern: "*", When: Broken("", errors.New("x"))}, true},
	} {
		p := &Policy{Deny: []Rule{c.rule}}
		if got := p.Denied(target, ""); got != c.hidden {
			t.Errorf("%s: hidden %v", c.rule.Pattern, got)
		}
		if got := p.Outlook(Call{Target: target, Risk: Read}).Effect == Deny; got != c.hidden {
			t.Errorf("%s: denied in a list %v", c.rule.Pattern, got)
		}
	}
}

// The order of a policy's rules and their places don't count in its version, and what they say does.
func TestVersion(t *testing.T) {
	base := func() *Policy {
		return &Policy{Deny: rules("a", "b"), Allow: []Rule{{Pattern: "c", When: fixed("holds")}}, Labels: map[string]Label{"x": {Risk: Read}}}
	}
	was := base().Version()
	same := base()
	same.Deny[0], same.Deny[1] = same.Deny[1], same.Deny[0]
	same.Grants, same.Deny[0].Line = []Grant{{Entry: "x"}}, 99
	if same.Version() != was {
		t.Error("order, lines or grants count")
	}
	for name, change := range map[string]func(*Policy){
		"list":      func(p *Policy) { p.Deny, p.Ask = p.Ask, p.Deny },
		"pattern":   func(p *Policy) { p.Deny[0].Pattern = "z" },
		"condition": func(p *Policy) { p.Allow[0].When = fixed("fails") },
		"none":      func(p *Policy) { p.Allow[0].When = nil },
		"entry":     func(p *Policy) { p.Allow[0].Entry = "e" },
		"scope":     func(p *Policy) { p.Allow[0].Scope = "managed" },
		"label":     func(p *Policy) { p.Labels["x"] = Label{Risk: Write} },
		"modes":     func(p *Policy) { p.Modes = []Mode{Plan} },
	} {
		p := base()
		change(p)
		if p.Version() == was {
			t.Errorf("%s doesn't count", name)
		}
	}
}

// F3, F8: each rule that was looked at, why it matches or not, and which one decided.
func TestExplain(t *testing.T) {
	p := &Policy{
		Deny: rules("mcp.other.*", "mcp.fs.*(path:/etc/**)"),
		Ask:  []Rule{{Pattern: "mcp.fs.*", When: fixed("doesn't"), File: "c.json", Line: 3}},
		Allow: []Rule{
			{Pattern: "mcp.fs.*", Scope: "managed", File: "m.json", Line: 1},
			{Pattern: "mcp.fs.*(path:/tmp/**)", Scope: "user", File: "c.json", Line: 4},
			{Pattern: "mcp.fs.*(path", Scope: "user", File: "c.json", Line: 5},
		},
	}
	call := Call{Target: Target{"fs", "write"}, Source: "user", Risk: Network, Args: json.RawMessage(`{"path":"/tmp/x"}`)}
	want := []Step{
		{List: "deny", Rule: &p.Deny[0], Why: "it is about other tools"},
		{List: "deny", Rule: &p.Deny[1], Names: true, Why: "the arguments are others"},
		{List: "ask", Rule: &p.Ask[0], Names: true, Why: "its condition doesn't hold"},
		{List: "allow", Rule: &p.Allow[0], Why: "it is from the source managed, and doesn't reach a server from the source user"},
		{List: "allow", Rule: &p.Allow[1], Names: true, Matched: true, Decided: true, Effect: Allow, Why: "it matches"},
		{List: "allow", Rule: &p.Allow[2], Why: "it can't be read (the ) at the end is missing), and so it allows nothing"},
	}
	if diff := cmp.Diff(want, p.Explain(call), cmpopts.EquateComparable(fixed(""))); diff != "" {
		t.Error(diff)
	}
	call.Args = nil
	granted := p.with(p.Deny, p.Ask, p.Allow)
	granted.Grants = []Grant{{Target: call.Target, Entry: "e", Definition: "d"}}
	steps := granted.Explain(call)
	if got := steps[len(steps)-2]; got.List != "grant" || got.Matched || !strings.Contains(got.Why, "entry") {
		t.Errorf("the stale grant: %+v", got)
	}
	if got := steps[len(steps)-1]; got.List != "default" || !got.Decided || got.Effect != Ask || !strings.HasPrefix(got.Why, "its risk is network; ") {
		t.Errorf("the default: %+v", got)
	}
}
