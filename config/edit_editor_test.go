package config

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// An editor knows nothing of the lock: what it saves between our reading and our writing stays.
func TestEditorSavesMeanwhile(t *testing.T) {
	path := write(t, `{"mcpServers": {}}`)
	asked := 0
	changed, err := editFile(path, func(d *document, again bool) ([]change, error) {
		if asked++; asked == 1 {
			if err := os.WriteFile(path, []byte(`{"mcpServers": {}, "permissions": {"deny": ["mcp.b.*"]}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return d.addRule("deny", Rule{Pattern: "mcp.a.*"})
	})
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got, want := read(t, path), `{"mcpServers": {}, "permissions": {"deny": ["mcp.b.*", "mcp.a.*"]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// One that never stops, or has moved the file away, is not fought with; nothing is left behind.
func TestEditorInTheWay(t *testing.T) {
	for what, meddle := range map[string]func(path string, n int) error{
		"it saves": func(path string, n int) error {
			return os.WriteFile(path, []byte("{}"+strings.Repeat(" ", n)), 0o600)
		},
		"it moves": func(path string, n int) error { return os.Rename(path, path+"~") },
	} {
		path := write(t, "{}")
		n := 0
		_, err := editFile(path, func(d *document, again bool) ([]change, error) {
			if !again {
				if n++; meddle(path, n) != nil {
					t.Fatal("the file can't be changed")
				}
			}
			return d.addRule("allow", Rule{Pattern: "mcp.a.*"})
		})
		if !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", what, err)
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "mcp.a") {
			t.Errorf("%s: wrote %s", what, text)
		}
		left, err := os.ReadDir(path[:strings.LastIndex(path, "/")])
		if err != nil || len(left) > 2 { // the file and the lock
			t.Errorf("%s: left %v %v", what, left, err)
		}
	}
}

// A file that its owner made read-only stays as it is, though its folder would let us replace it.
func TestReadOnlyFile(t *testing.T) {
	const text = `{"mcpServers": {}}`
	path := write(t, text)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	err := AddServer(path, "a", json.RawMessage(`{"command": "x"}`))
	if err == nil || !strings.Contains(err.Error(), "chmod u+w "+path) {
		t.Errorf("got %v", err)
	}
	if got := read(t, path); got != text {
		t.Errorf("wrote %s", got)
	}
}
