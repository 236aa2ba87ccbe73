package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/config"
)

// What is looked at before trust is what would run: a token by the name of its variable, and not the decoy that has the
// entry's name on the same line. G2
func TestPendingIsWhole(t *testing.T) {
	dir := t.TempDir()
	text := `{"x": {"s": {"command": "harmless"}}, "mcpServers": {"s": {"url": "https://x.example/mcp", "bearerTokenEnvVar": "T"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.LoadAll(config.Sources{Dir: dir})
	if err != nil || len(c.Pending) != 1 {
		t.Fatal(err, c)
	}
	if got := c.Pending[0].Headers["Authorization"].Reveal(); got != "Bearer ${T}" {
		t.Errorf("the token's header is %q", got)
	}
	shown := config.Show(c).Servers
	if len(shown) != 1 || len(shown[0].Fields) != 2 || strings.Contains(shown[0].Fields[0].Value, "harmless") {
		t.Errorf("shown: %+v", shown)
	}
}

// A rule is taken out in either way to write it, and the rest of the file stays.
func TestRemoveRule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, []byte(`{
  "permissions": {
    "allow": [
      "a.*", // mine
      {"rule": "b", "when": "true"},
      "b"
    ]
  }
}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := config.RemoveRule(path, "allow", "c"); changed || err != nil {
		t.Error(changed, err)
	}
	if changed, err := config.RemoveRule(path, "allow", "b"); !changed || err != nil {
		t.Error(changed, err)
	}
	got, _ := os.ReadFile(path)
	if strings.Contains(string(got), `"b"`) || !strings.Contains(string(got), `"a.*" // mine`) {
		t.Errorf("%s", got)
	}
	if _, err := config.Load(path, nil); err != nil {
		t.Error(err)
	}
	for _, r := range []config.Rule{{Pattern: " "}, {Pattern: "x", Entry: "md5:1"}, {Pattern: "x", When: " "}, {Pattern: "x", When: "\x00"}} {
		if _, err := config.WriteRule(path, "allow", r); err == nil {
			t.Errorf("%+v was written", r)
		}
	}
}
