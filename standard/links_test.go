package standard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// F3; CVE-2025-54794, CVE-2025-53109: a rule is about a place, whatever leads there: a link, also one whose target isn't
// there yet, the working folder, `~`, and `..` behind a link, which the kernel takes from the link's target.
func TestRulesAreAboutPlaces(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, out := filepath.Join(root, "home", "work"), filepath.Join(root, "out")
	for _, dir := range []string{filepath.Join(work, "docs"), filepath.Join(out, "deep")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"dangling": filepath.Join(out, "made.txt"), "docs/up.md": "../../../out/made.txt", "note": filepath.Join(out, "x"),
		"deep": filepath.Join(out, "deep"), "inside": filepath.Join(work, "docs"), "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(work, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Chdir(work)
	for _, c := range []struct {
		pattern, path string
		denies        bool // as a deny rule
		allows        bool // as an allow rule
	}{
		{out + "/**", work + "/dangling", true, false},
		{work + "/**", work + "/dangling", true, false},
		{work + "/**", work + "/docs/up.md", true, false},
		{work + "/**", work + "/docs/new.md", true, true},
		{work + "/**", work + "/inside/new.md", true, true},
		{out + "/**", "dangling", true, false},
		{out + "/**", "docs/up.md", true, false},
		{"docs/**", "docs/up.md", true, false},
		{"docs/**", "docs/new.md", true, true},
		{"./docs/**", work + "/docs/new.md", true, false},
		{"docs/**", work + "/docs/new.md", true, false},
		{"note*", "note", true, false},
		{"note*", "notes", true, true},
		{work + "/docs/**", "docs/new.md", true, false},
		{work + "/docs/**", "./docs/new.md", true, false},
		{work + "/**", "new", true, false},
		{work + "/**", "~/work/new", true, false},
		{"~/work/**", "~/work/new", true, true},
		{"~/work/**", work + "/new", true, false},
		{"~/work/**", "new", true, false},
		{out + "/**", "file://" + work + "/dangling", true, false},
		{out + "/made.txt", work + "/deep/../made.txt", true, false},
		{"https://host/**", "https://host/a/b", true, true},
		{"org/*", "org/name", true, true},
		{out + "/**", work + "/loop", false, false},
		{out + "/**", "docs/new.md", false, false},
	} {
		args, _ := json.Marshal(map[string]string{"path": c.path})
		call := permission.Call{Target: permission.Target{Server: "fs", Tool: "write"}, Source: config.SourceUser, Risk: permission.Network, Args: args}
		rule := []config.Rule{{Pattern: "mcp.fs.write(path:" + c.pattern + ")", Source: config.SourceUser}}
		deny, allow := new(config.Config), new(config.Config)
		deny.Permissions.Deny, allow.Permissions.Allow = rule, rule
		if got := standard.Rules(deny).Decide(call).Effect == permission.Deny; got != c.denies {
			t.Errorf("deny %s, %s: %v", c.pattern, c.path, got)
		}
		if got := standard.Rules(allow).Decide(call).Effect == permission.Allow; got != c.allows {
			t.Errorf("allow %s, %s: %v", c.pattern, c.path, got)
		}
	}
	anything := new(config.Config)
	anything.Permissions.Deny = []config.Rule{{Pattern: "mcp.fs.write(*:" + work + "/**)"}}
	call := permission.Call{Target: permission.Target{Server: "fs", Tool: "write"}, Risk: permission.Read, Args: json.RawMessage(`{"unit":"m"}`)}
	if d := standard.Rules(anything).Decide(call); d.Effect != permission.Allow {
		t.Errorf("a word under any name is no file: %+v", d)
	}
}
