package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/permission"
)

func loadParts(t *testing.T, managed, user string) *config.Config {
	t.Helper()
	s := config.Sources{Instead: &config.Text{Name: "mcp.config.json", Data: []byte(user)}}
	if managed != "" {
		s.Managed = filepath.Join(t.TempDir(), "managed.json")
		if err := os.WriteFile(s.Managed, []byte(managed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.LoadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// F7, G3: a mode that the administrator doesn't allow counts for nothing, and that is said.
func TestForbiddenMode(t *testing.T) {
	c := loadParts(t, `{"permissions": {"modes": ["default", "plan"]}}`, `{"permissions": {"mode": "bypass"}}`)
	a := &app{}
	m := a.modeOf(c)
	if m.Mode != "default" || m.Wanted != "bypass" || m.Source != config.SourceUser || m.Line != 1 {
		t.Errorf("%+v", m)
	}
	all := lint{a, c, nil, surroundings{}}.all("")
	if len(all) != 1 || all[0].List != "mode" || all[0].Message != "the administrator allows only default, plan, so the mode is default" {
		t.Errorf("%+v", all)
	}
	a.mode = "plan"
	if m := a.modeOf(c); m.Mode != "plan" || m.forbids() != "" {
		t.Errorf("%+v", m)
	}
}

// What was decided then is told by what decided, whatever a person answered.
func TestWas(t *testing.T) {
	for _, c := range []struct {
		asked, resolved string
		decision, actor string
		reason          string
		want            permission.Effect
	}{
		{"rule:user", "rule:user", "allow", "rule", "", permission.Allow},
		{"default", "user_allow_once", "allow", "user", "", permission.Ask},
		{"default", "always_allow", "allow", "user", "", permission.Ask},
		{"always_allow", "always_allow", "allow", "user", "", permission.Allow},
		{"session_allow", "session_allow", "allow", "user", "", permission.Allow},
		{"default", "default", "deny", "timeout", "approval_required", permission.Ask},
		{"default", "default", "deny", "user", "permission_denied", permission.Ask},
		{"rule:user", "rule:user", "deny", "rule", "cancelled", permission.Ask},
		{"rule:user", "rule:user", "deny", "rule", "permission_denied", permission.Deny},
		{"mode", "mode", "deny", "policy", "permission_denied", permission.Deny},
	} {
		call := loggedCall{
			asked:    event.PermissionRequested{SourcedFrom: c.asked},
			resolved: event.PermissionResolved{SourcedFrom: c.resolved, Decision: c.decision, Actor: c.actor}, reason: c.reason,
		}
		if got := call.was(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// What the log doesn't tell is decided only where it makes no difference.
func TestReplayUnknown(t *testing.T) {
	const config = `{"mcpServers": {"fs": {"command": "fs"}}}`
	cut := `"{… [9000 bytes]"`
	for _, c := range []struct {
		name, rules, tool, args, risk, want, why string
	}{
		{"an allow rule with arguments", `{"allow": ["mcp.fs.x(a:1)"]}`, "mcp.fs.x", cut, "write", cantTell, "cut"},
		{"and one without", `{"allow": ["mcp.fs.x(a:1)", "mcp.fs.*"]}`, "mcp.fs.x", cut, "write", "allow", ""},
		{"a deny rule that asks otherwise", `{"deny": ["mcp.fs.x(a:1)"]}`, "mcp.fs.x", cut, "write", cantTell, "cut"},
		{"of another tool", `{"deny": ["mcp.fs.y(a:1)"], "allow": ["mcp.fs.x"]}`, "mcp.fs.x", cut, "write", "allow", ""},
		{"a condition", `{"ask": [{"rule": "*", "when": "args.a == 1"}], "allow": ["*"]}`, "mcp.fs.x", cut, "write", cantTell, "cut"},
		{"a destructive call asks in any case", `{"allow": ["mcp.fs.x(a:1)"]}`, "mcp.fs.x", cut, "destructive", "ask", ""},
		{"hints of a tool that is gone", `{"deny": [{"rule": "*", "when": "has(annotations.title)"}]}`, "mcp.fs.x", `{}`, "read", cantTell, "hints"},
		{"what the session held", `{"ask": [{"rule": "*", "when": "'private' in session.labels"}]}`, "mcp.fs.x", `{}`, "read", cantTell, "held"},
		{"a server that is gone", `{"allow": ["*"]}`, "mcp.gone.x", `{}`, "network", cantTell, "isn't configured"},
		{"and a deny rule for it", `{"allow": ["*"], "deny": ["mcp.gone.*"]}`, "mcp.gone.x", `{}`, "network", "deny", ""},
		{"a label of a tool that is gone", `{"allow": [{"rule": "*", "when": "risk < execute"}], "risk": {"mcp.fs.x": "write"}}`, "mcp.fs.x", `{}`, "network", cantTell, "label of risk"},
		{"and one that is the worst", `{"risk": {"mcp.fs.x": "destructive"}}`, "mcp.fs.x", `{}`, "read", "ask", ""},
	} {
		now := loadParts(t, "", config)
		rules := loadParts(t, "", `{"permissions":`+c.rules+`}`)
		rules.Servers = now.Servers
		r := newReplayer(now, rules, shownMode{Mode: "default"})
		got := r.again(&loggedCall{
			asked:    event.PermissionRequested{Tool: c.tool, Args: []byte(c.args), RiskAtDecision: c.risk, SourcedFrom: "default"},
			resolved: event.PermissionResolved{SourcedFrom: "default", Decision: "deny", Actor: "timeout"},
			started:  &event.SessionStarted{Kind: "agent"},
		})
		if got.Would != c.want || !strings.Contains(strings.Join(got.Unknown, "; "), c.why) || (got.Would == cantTell) != (len(got.Unknown) > 0) {
			t.Errorf("%s: %s %q", c.name, got.Would, got.Unknown)
		}
	}
}

// A grant lets no call run that asked before it was given, and one that it let run goes on as long as it is there.
func TestReplayGrants(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0", 64)
	grant := `{"tool": "mcp.fs.x", "entry": "` + hash + `", "definition": "` + hash + `"}`
	now := loadParts(t, "", `{"mcpServers": {"fs": {"command": "fs"}}}`)
	target := permission.Target{Server: "fs", Tool: "x"}
	for _, c := range []struct{ asked, resolved, actor, grants, want string }{
		{"default", "always_allow", "user", grant, "ask"},
		{"always_allow", "always_allow", "user", grant, "allow"}, // though the entry is another now
		{"always_allow", "always_allow", "user", "", cantTell},
		{"rule:user", "rule:user", "rule", "", "ask"},
	} {
		rules := loadParts(t, "", `{"permissions": {"grants": [`+c.grants+`]}}`)
		r := newReplayer(now, rules, shownMode{Mode: "default"})
		r.known = map[permission.Target]usher.Known{target: {Call: permission.Call{Target: target, Entry: "sha256:now", Definition: "sha256:now"}}}
		got := r.again(&loggedCall{
			asked:    event.PermissionRequested{Tool: "mcp.fs.x", RiskAtDecision: "write", SourcedFrom: c.asked},
			resolved: event.PermissionResolved{SourcedFrom: c.resolved, Decision: "allow", Actor: c.actor},
		})
		if got.Would != c.want {
			t.Errorf("%+v: %s %q", c, got.Would, got.Unknown)
		}
	}
}

// Where data could go isn't a matter of rules: what asked for that still does, unless the file says otherwise.
func TestReplayFlows(t *testing.T) {
	now := loadParts(t, "", `{"mcpServers": {"web": {"url": "https://x.example"}}}`)
	for rules, want := range map[string]string{
		`{"permissions": {"allow": ["*"]}}`:                     "ask",
		`{"permissions": {"deny": ["*"]}}`:                      "deny",
		`{"permissions": {"allow": ["*"]}, "flows": "deny"}`:    "deny",
		`{"permissions": {"allow": ["*"]}, "flows": "off"}`:     "allow",
		`{"permissions": {"allow": ["*"], "mode": "dont-ask"}}`: "deny",
	} {
		c := loadParts(t, "", rules)
		c.Servers = now.Servers
		got := newReplayer(now, c, (&app{}).modeOf(c)).again(&loggedCall{
			asked:    event.PermissionRequested{Tool: "mcp.web.x", RiskAtDecision: "network", SourcedFrom: "toxic_flow"},
			resolved: event.PermissionResolved{SourcedFrom: "user_allow_once", Decision: "allow", Actor: "user"},
		})
		if got.Was != "ask" || got.Would != want {
			t.Errorf("%s: %s → %s %q", rules, got.Was, got.Would, got.Unknown)
		}
	}
}

// Calls of which the same is to be said are told together, the strictest first.
func TestReplayGroups(t *testing.T) {
	r := replayed{}
	for _, c := range []replayedCall{
		{Tool: "a", Was: "ask", Would: cantTell, Unknown: []string{"x"}},
		{Tool: "a", Was: "ask", Would: "allow"},
		{Tool: "b", Was: "allow", Would: "deny"},
		{Tool: "c", Was: "allow", Would: "allow"},
		{Tool: "a", Was: "ask", Would: "allow"},
	} {
		r.add(c)
	}
	var got []string
	for _, g := range r.groups() {
		got = append(got, g.Tool+" "+g.change())
	}
	if want := []string{"b allow → deny", "a ask → allow", "a ask → can't tell"}; !slices.Equal(got, want) || r.Same != 1 || r.Different != 3 || r.CantTell != 1 {
		t.Errorf("%q %+v", got, r)
	}
}
