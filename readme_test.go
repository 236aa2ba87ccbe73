package usher_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/usher-mcp/usher/config"
)

// block returns the first block of README.md in a language.
func block(t *testing.T, language string) []byte {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```\n").FindSubmatch(readme)
	if found == nil {
		t.Fatalf("README.md has no block of %s", language)
	}
	return found[1]
}

// The README's program compiles.
func TestReadmeProgram(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(source, block(t, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "readme", "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(dir, "out"), "./readme").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The README's first configuration is one.
func TestReadmeConfig(t *testing.T) {
	c, err := config.Parse("README.md", block(t, "jsonc"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Problems {
		t.Error(p)
	}
	if len(c.Servers) != 1 || len(c.Permissions.Deny) != 1 {
		t.Errorf("got %+v", c)
	}
}
