package standard_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// F8: other rules take the place of the user's, and of nobody else's; servers and what was allowed for good stay.
func TestLoadRules(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const zeros = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	o := standard.Options{
		ConfigPath: write("mcp.config.json", `{"mcpServers": {"fs": {"command": "fs"}}, "permissions": {"mode": "plan", "deny": ["mcp.fs.old"], "risk": {"mcp.fs.x": "read"},
			"grants": [{"tool": "mcp.fs.x", "entry": "`+zeros+`", "definition": "`+zeros+`"}]}}`),
		Managed: write("managed.json", `{"permissions": {"deny": ["mcp.fs.managed"]}}`),
		DataDir: filepath.Join(dir, "data"), Dir: dir,
	}
	write("imported.json", `{"permissions": {"deny": ["mcp.fs.imported"]}}`)
	c, err := standard.LoadRules(t.Context(), o, "new.json", []byte(`{"deny": ["mcp.fs.new"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var deny []string
	for _, r := range c.Permissions.Deny {
		deny = append(deny, r.Source+" "+r.Pattern)
	}
	if want := []string{"managed mcp.fs.managed", "user mcp.fs.new", "imported mcp.fs.imported"}; !slices.Equal(deny, want) {
		t.Errorf("%q, want %q", deny, want)
	}
	if len(c.Servers) != 1 || len(c.Permissions.Grants) != 1 || len(c.Permissions.Risk) != 0 || c.Permissions.Mode != "" {
		t.Errorf("%+v", c)
	}
	d := standard.Rules(c).Decide(permission.Call{Target: permission.Target{Server: "fs", Tool: "new"}, Source: config.SourceUser})
	if d.Effect != permission.Deny || d.Rule.File != "new.json" {
		t.Errorf("%+v", d)
	}
}
