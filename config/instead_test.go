package config

import (
	"errors"
	"path/filepath"
	"testing"
)

// A file of rules is a configuration, or what stands under permissions of one; its lines stay.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, data string
		line       int // of the one deny rule; 0: there is none
	}{
		{"bare", "{\n// mine\n\"deny\": [\"a\"]} // end", 3},
		{"bare with a schema", "{\"$schema\": \"x\",\n\"deny\": [\"a\"]}", 2},
		{"whole", "{\n\"permissions\": {\n\"deny\": [\"a\"]}}", 3},
		{"whole, and something that stands elsewhere", "{\"mcpServers\": {}, \"deny\": [\"a\"]}", 0},
		{"empty", "{}", 0},
	} {
		data, err := Rules("f.json", []byte(c.data))
		if err != nil {
			t.Fatal(c.name, err)
		}
		cfg, err := LoadAll(Sources{Instead: &Text{"f.json", data}})
		if err != nil {
			t.Fatal(c.name, err)
		}
		deny := cfg.Permissions.Deny
		if c.line == 0 && len(deny) != 0 || c.line > 0 && (len(deny) != 1 || deny[0].Line != c.line || deny[0].File != "f.json") {
			t.Errorf("%s: %+v", c.name, deny)
		}
	}
	if _, err := Rules("f.json", []byte("{\n\"deny\": [")); err == nil {
		t.Error("a broken file is taken")
	} else if p, ok := errors.AsType[*Problem](err); !ok || p.File != "f.json" || p.Line != 2 {
		t.Error(err)
	}
}

// What is given instead counts whatever the file says, and nothing is read.
func TestInstead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "mcp.config.json")
	cfg, err := LoadAll(Sources{User: path, Instead: &Text{"new.json", []byte(`{"permissions": {"ask": ["a"]}}`)}, Reload: true})
	if err != nil || len(cfg.Permissions.Ask) != 1 || cfg.Permissions.Ask[0].Source != SourceUser || cfg.Permissions.Ask[0].File != "new.json" || cfg.Path != path {
		t.Errorf("%+v, %v", cfg, err)
	}
}
