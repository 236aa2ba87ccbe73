package config

import (
	"os"
	"path/filepath"
	"testing"
)

// G2, L3: what an administrator trusts in advance by its command or address is that, and not what an entry of the same
// command makes of it by other fields.
func TestTrustInAdvanceIsForTheWholeEntry(t *testing.T) {
	dir := t.TempDir()
	managed := filepath.Join(dir, "managed.json")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(managed, `{"trustedServers": [{"serverCommand": ["/opt/corp/server"]}, {"serverUrl": "https://*.corp.example/*"}]}`)
	for entry, trusted := range map[string]bool{
		`{"command": "/opt/corp/server"}`:                                                                true,
		`{"command": "/opt/corp/server", "callTimeout": "9s"}`:                                           true,
		`{"command": "/opt/corp/server", "env": {"NODE_OPTIONS": "--require ./evil.js"}}`:                false,
		`{"command": "/opt/corp/server", "cwd": "evil"}`:                                                 false,
		`{"command": "/opt/corp/server", "args": ["--evil"]}`:                                            false,
		`{"url": "https://mcp.corp.example/x"}`:                                                          true,
		`{"url": "https://mcp.corp.example/x", "headers": {"X-Team": "a"}}`:                              true,
		`{"url": "https://mcp.corp.example/x", "tls": {"ca": "` + filepath.Join(dir, "evil.pem") + `"}}`: false,
	} {
		put(filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"p": `+entry+`}}`)
		c, err := LoadAll(Sources{Managed: managed, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Admit("p"); (err == nil) != trusted {
			t.Errorf("%s: %v %+v", entry, err, c.Problems)
		}
		if got := len(c.Pending) == 0; got != trusted {
			t.Errorf("%s: pending %+v", entry, c.Pending)
		}
	}
}

// G3: neither spelling takes back what the other says.
func TestManagedOnlyInTwoSpellings(t *testing.T) {
	dir := t.TempDir()
	managed, user := filepath.Join(dir, "managed.json"), filepath.Join(dir, "user.json")
	for _, f := range [][2]string{
		{managed, `{"allowedServers": [{"serverName": "x"}], "allowManagedServersOnly": true, "allowManagedMcpServersOnly": false}`},
		{user, `{"allowedServers": [{"serverName": "y"}], "mcpServers": {"y": {"command": "y"}}}`},
	} {
		if err := os.WriteFile(f[0], []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := LoadAll(Sources{Managed: managed, User: user})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admit("y"); err == nil {
		t.Error("y may run")
	}
}
