package flow_test

import (
	"testing"

	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

func flag(b bool) *bool { return &b }

// What is taken for granted of a tool, and what hints change of it.
func TestTraitsOf(t *testing.T) {
	open, closed := mcp.Annotations{OpenWorld: flag(true)}, mcp.Annotations{OpenWorld: flag(false)}
	for _, c := range []struct {
		name   string
		f      flow.Facts
		labels flow.Labels
		sink   flow.Sink
	}{
		{"usher's own", flow.Facts{Builtin: true, Risk: permission.Read}, both, flow.NoSink},
		{"a child that reads", flow.Facts{Local: true, Risk: permission.Read, HintsCount: true}, both, flow.NoSink},
		{"a child that writes here", flow.Facts{Local: true, Risk: permission.Write, HintsCount: true, Hints: closed}, both, flow.NoSink},
		{"a child that says nothing", flow.Facts{Local: true, Risk: permission.Network, HintsCount: true}, both, flow.ClosedSink},
		{"a child that runs programs", flow.Facts{Local: true, Risk: permission.Execute}, both, flow.ClosedSink},
		{"a child that destroys here", flow.Facts{Local: true, Risk: permission.Destructive, HintsCount: true, Hints: closed}, both, flow.NoSink},
		{"the same, and its word doesn't count", flow.Facts{Local: true, Risk: permission.Destructive, Hints: closed}, both, flow.ClosedSink},
		{"a child that the user calls a network tool", flow.Facts{Local: true, Risk: permission.Network, HintsCount: true, Hints: closed}, both, flow.ClosedSink},
		{"a child whose risk nobody knows", flow.Facts{Local: true}, both, flow.ClosedSink},
		{"a child that reads the web", flow.Facts{Local: true, Risk: permission.Network, HintsCount: true, Hints: open}, flow.Untrusted, flow.OpenSink},
		{"the same, and its word doesn't count", flow.Facts{Local: true, Risk: permission.Network, Hints: open}, both, flow.OpenSink},
		{"the same with a token", flow.Facts{Local: true, Credentials: true, HintsCount: true, Risk: permission.Network, Hints: open}, both, flow.OpenSink},
		{"far", flow.Facts{Risk: permission.Read, HintsCount: true}, flow.Untrusted, flow.ClosedSink},
		{"far, with a token", flow.Facts{Risk: permission.Read, HintsCount: true, Credentials: true}, both, flow.ClosedSink},
		{"far, and says that it isn't", flow.Facts{Risk: permission.Read, HintsCount: true, Hints: closed}, flow.Untrusted, flow.ClosedSink},
		{"far and open", flow.Facts{Risk: permission.Network, Hints: open}, flow.Untrusted, flow.OpenSink},
	} {
		if got := flow.TraitsOf(c.f); got != (flow.Traits{Labels: c.labels, Sink: c.sink}) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got.Labels, got.Sink, c.labels, c.sink)
		}
	}
}

func traits(t *testing.T, names ...string) flow.Traits {
	t.Helper()
	got, err := flow.ParseTraits(names)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What the configuration says replaces what would be taken for granted, but for what only adds.
func TestRules(t *testing.T) {
	none, private, untrusted, egress := traits(t), traits(t, "private"), traits(t, "untrusted"), traits(t, "egress")
	all := traits(t, "private", "untrusted", "egress")
	child := func(server string, hints mcp.Annotations) flow.Facts {
		return flow.Facts{Target: permission.Target{Server: server, Tool: "x"}, Local: true, Risk: permission.Network, HintsCount: true, Hints: hints}
	}
	open := mcp.Annotations{OpenWorld: flag(true)}
	base := flow.TraitsOf(child("a", mcp.Annotations{}))
	for _, c := range []struct {
		name  string
		rules []flow.Rule
		f     flow.Facts
		want  flow.Traits
	}{
		{"no rule", nil, child("a", mcp.Annotations{}), base},
		{"another's", []flow.Rule{{Pattern: "mcp.b.*", Traits: none}}, child("a", mcp.Annotations{}), base},
		{"replaced by nothing", []flow.Rule{{Pattern: "mcp.a.*", Traits: none}}, child("a", mcp.Annotations{}), none},
		{"the union of two", []flow.Rule{{Pattern: "mcp.a.*", Traits: private}, {Pattern: "mcp__a__x", Traits: untrusted}}, child("a", mcp.Annotations{}), flow.Traits{Labels: both}},
		{"a hint adds to a rule", []flow.Rule{{Pattern: "mcp.a.*", Traits: none}}, child("a", open), flow.Traits{Labels: flow.Untrusted, Sink: flow.OpenSink}},
		{"a rule keeps what a hint would take", []flow.Rule{{Pattern: "mcp.a.*", Traits: private}}, child("a", open), all},
		{"a rule that only adds", []flow.Rule{{Pattern: "mcp.a.*", Traits: egress, AddsOnly: true}}, child("a", mcp.Annotations{}), all},
		{"a rule that only adds nothing", []flow.Rule{{Pattern: "mcp.a.*", Traits: none, AddsOnly: true}}, child("a", mcp.Annotations{}), base},
		{"reads alike: takes nothing", []flow.Rule{{Pattern: "mcp.fs.*", Traits: none}}, child("fs.evil", mcp.Annotations{}), base},
		{"reads alike: adds", []flow.Rule{{Pattern: "mcp.fs.*", Traits: egress}}, child("fs.evil", mcp.Annotations{}), all},
		{"usher's own", []flow.Rule{{Pattern: "local.*", Traits: untrusted}}, flow.Facts{Target: permission.Target{Tool: "read_file"}, Builtin: true}, untrusted},
	} {
		if got := flow.NewRules(c.rules).TraitsOf(c.f); got != c.want {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got.Labels, got.Sink, c.want.Labels, c.want.Sink)
		}
	}
	if _, err := flow.ParseTraits([]string{"privat"}); err == nil {
		t.Error("a label that there isn't was read")
	}
}
