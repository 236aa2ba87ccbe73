package config_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// TestAProjectNeverWidens: with a project's file, whatever is in it and whatever of it is trusted, no call runs, or runs
// without a question, that wouldn't without it; no server runs that nobody trusted. F3, G2
func TestAProjectNeverWidens(t *testing.T) {
	_ = flag.Set("rapid.nofailfile", "true") // what failed is printed
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	user, project := filepath.Join(folder, "user.json"), filepath.Join(folder, "repo", ".mcp.json")
	if err := os.MkdirAll(filepath.Join(folder, "repo", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		write(t, user, userFile(t))
		_ = os.Remove(project)
		trusts := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "trusted")
		load := func() *config.Config {
			c, err := config.LoadAll(config.Sources{
				User: user, Dir: filepath.Join(folder, "repo"),
				Trusted: func(_, name, _ string) bool { return slices.Contains(trusts, name) },
			})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		without := load()
		text := projectFile(t)
		write(t, project, text)
		with := load()

		for _, a := range with.Admitted() {
			s := a.Server()
			_, err := without.Admit(s.Name)
			if s.Source == config.SourceProject && !slices.Contains(trusts, s.Name) || s.Source != config.SourceProject && err != nil {
				t.Fatalf("%s of %s runs: %s", s.Name, s.Source, text)
			}
		}
		if with.Log != without.Log || with.Approvals != without.Approvals || with.Flows.Mode != without.Flows.Mode || with.Permissions.Mode != without.Permissions.Mode {
			t.Fatalf("a setting changed: %s", text)
		}
		if p, q := with.Permissions, without.Permissions; !slices.Equal(p.Allow, q.Allow) || !slices.Equal(p.Grants, q.Grants) {
			t.Fatalf("an allow rule came with %s", text)
		}
		before, after := policyOf(without), policyOf(with)
		for range 20 {
			call := aCall(t)
			was, is := decide(t, before, without, call), decide(t, after, with, call)
			if _, err := without.Admit(call.Server); err != nil { // new, and trusted: then no rule of the user's may let it run
				if is.Effect == permission.Allow && (is.Rule != nil || is.Grant != nil) {
					t.Fatalf("%s: allowed by %+v with the project's file %s", call.Canonical(), is, text)
				}
				continue
			}
			if is.Effect > was.Effect {
				t.Fatalf("%s %s: %s without, %s with the project's file %s", call.Canonical(), call.Args, was.Effect, is.Effect, text)
			}
		}
	})
}

var (
	names    = []string{"fs", "jira", "x", "FS"}
	tools    = []string{"read", "write", "delete", "get_issue"}
	patterns = []string{"*", "mcp.*", "mcp.fs.*", "mcp__fs__read", "mcp.fs.write", "mcp.x", "mcp.FS.*", "mcp.jira.get_*", "mcp__fs__write(path:/etc/**)", "read"}
)

func write(t *rapid.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func strs(of []string) *rapid.Generator[[]string] { return rapid.SliceOfN(rapid.SampledFrom(of), 0, 3) }

func some(t *rapid.T, label string, of []string) any { return strs(of).Draw(t, label) }

func permissions(t *rapid.T) map[string]any {
	all := map[string]any{"deny": some(t, "deny", patterns), "ask": some(t, "ask", patterns), "allow": some(t, "allow", patterns)}
	risk := map[string]any{}
	for _, tool := range strs([]string{"mcp.fs.write", "mcp.x.delete", "mcp.jira.get_issue"}).Draw(t, "risk") {
		risk[tool] = map[string]any{"risk": rapid.SampledFrom([]string{"read", "write", "destructive"}).Draw(t, "label"), "hash": "sha256:d"}
	}
	all["risk"] = risk
	all["mode"] = rapid.SampledFrom([]string{"default", "bypass", "plan", "dont-ask", "accept-reads"}).Draw(t, "mode")
	return all
}

func servers(t *rapid.T) map[string]any {
	all := map[string]any{}
	for _, name := range strs(names).Draw(t, "servers") {
		all[name] = map[string]any{"command": "run-" + name, "trustHints": rapid.Bool().Draw(t, "hints")}
	}
	return all
}

func text(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func userFile(t *rapid.T) string {
	return text(t, map[string]any{"mcpServers": servers(t), "permissions": permissions(t), "flows": "ask"})
}

// projectFile has all that a file may have, in several spellings, and sometimes what is broken.
func projectFile(t *rapid.T) string {
	all := map[string]any{
		rapid.SampledFrom([]string{"mcpServers", "servers"}).Draw(t, "key"): servers(t),
		"permissions": permissions(t),
		"flows":       rapid.SampledFrom([]any{"off", map[string]any{"mode": "off", "labels": map[string]any{"mcp.fs.*": []string{}}}}).Draw(t, "flows"),
		"log":         map[string]any{"dir": "/evil"},
		"approvals":   map[string]any{"wait": "0s"},
	}
	if rapid.Bool().Draw(t, "shouts") {
		all["Permissions"], all["PERMISSIONS"] = permissions(t), permissions(t)
	}
	if rapid.Bool().Draw(t, "local") {
		all["projects"] = map[string]any{"/": map[string]any{"mcpServers": servers(t), "permissions": permissions(t)}}
	}
	s := text(t, all)
	switch rapid.IntRange(0, 9).Draw(t, "damage") {
	case 0:
		return s[:len(s)-1]
	case 1:
		return strings.Replace(s, `"deny":[`, `"deny":[5,`, 1)
	}
	return s
}

func aCall(t *rapid.T) permission.Call {
	c := permission.Call{
		Target: permission.Target{Server: rapid.SampledFrom(names).Draw(t, "server"), Tool: rapid.SampledFrom(tools).Draw(t, "tool")},
		Args:   json.RawMessage(fmt.Sprintf(`{"path":%q}`, rapid.SampledFrom([]string{"/etc/passwd", "/tmp/x"}).Draw(t, "path"))),
	}
	c.Definition = rapid.SampledFrom([]string{"sha256:d", "sha256:e"}).Draw(t, "definition")
	yes := true
	if rapid.Bool().Draw(t, "claims to read") {
		c.Annotations = mcp.Annotations{ReadOnly: &yes}
	}
	return c
}

// decide is what a host does with a call: nothing runs on a server that isn't admitted.
func decide(t *rapid.T, p *permission.Policy, c *config.Config, call permission.Call) permission.Decision {
	a, err := c.Admit(call.Server)
	if err != nil {
		return permission.Decision{Effect: permission.Deny}
	}
	s := a.Server()
	trusted := s.Source == config.SourceUser && s.TrustHints == nil || s.TrustHints != nil && *s.TrustHints
	call.Source, call.Entry = s.Source, s.Hash
	call.Risk = permission.Assess(call.Annotations, false)
	if s.Source == config.SourceProject && p.RiskOf(call.Target, call.Definition, call.Risk) < call.Risk { // a label for another server
		t.Fatalf("a label lowers the risk of %s, which is a project's", call.Canonical())
	}
	call.Risk = p.RiskOf(call.Target, call.Definition, permission.Assess(call.Annotations, trusted))
	if m, err := permission.ParseMode(c.Permissions.Mode); err == nil {
		call.Mode = m
	}
	return p.Decide(call)
}

func policyOf(c *config.Config) *permission.Policy {
	rules := func(all []config.Rule) (out []permission.Rule) {
		for _, r := range all {
			out = append(out, permission.Rule{Pattern: r.Pattern, Entry: r.Entry, Scope: r.Source, File: r.File, Line: r.Line})
		}
		return out
	}
	p := &permission.Policy{Deny: rules(c.Permissions.Deny), Ask: rules(c.Permissions.Ask), Allow: rules(c.Permissions.Allow), Labels: map[string]permission.Label{}}
	for _, name := range slices.Sorted(maps.Keys(c.Permissions.Risk)) {
		l := c.Permissions.Risk[name]
		if risk, err := permission.ParseRisk(l.Risk); err == nil {
			p.Labels[name] = permission.Label{Risk: risk, Hash: l.Hash}
		}
	}
	if c.Permissions.Incomplete {
		p.Ask = append(p.Ask, permission.Rule{Pattern: "*", Scope: config.SourceUser})
	}
	return p
}
