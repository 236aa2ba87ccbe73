package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/secret"
)

const full = "\xef\xbb\xbf" + `// my servers
{
  "mcpServers": {
    "fs": {
      "command": "${HOME}/bin/fs", // where it is
      "args": ["--root", "${ROOT:-/srv}", "$${HOME}", "${x%y}", "${EMPTY:-d}", "${EMPTY}",],
      "env": {"PORT": 8080, "F": 1.50, "ON": true, "OFF": null, "API_KEY": "k-${PLAIN}", "A": "b"},
      "cwd": "~/work", "startTimeout": "1m", "timeout": 5000, "trustHints": false,
    },
  },
  /* VS Code's key */
  "servers": {
    "Web": {"type": "streamable-http", "url": "https://u:pass%40word1@web.example/mcp?api_key=0123456789",
      "headers": {"Authorization": "Bearer ${WEB_PAT}", "X-Version": "version-string"}, "enabled": false},
  },
  "permissions": {
    "deny": ["mcp.fs.write_*"],
    "allow": ["mcp.fs.*",
              "mcp__Web__get"],
    "risk": {"mcp.fs.a": "read", "mcp.fs.b": {"risk": "destructive", "hash": "sha256:1"}},
  },
  "log": {"durability": "full", "dir": "${HOME}/log"},
} // no newline at the end`

func TestParseEverything(t *testing.T) { // G1 G4 B10
	env := vars("HOME", "/home/user", "EMPTY", "", "PLAIN", "not-so-plain", "WEB_PAT", "pat-12345678")
	cfg, err := Parse("c.json", []byte(full), env)
	if err != nil || len(cfg.Problems) > 0 {
		t.Fatal(err, cfg.Problems)
	}
	no := false
	fsHash, webHash := cfg.Servers[1].Hash, cfg.Servers[0].Hash
	fsLife := lifecycle.Default()
	fsLife.Connect, fsLife.FirstConnect, fsLife.Request = time.Minute, time.Minute, 5*time.Second
	want := []Server{{
		Name: "Web", Transport: "http", URL: "https://u:pass%40word1@web.example/mcp?api_key=0123456789",
		Headers:  map[string]secret.Value{"Authorization": "Bearer pat-12345678", "X-Version": "version-string"},
		Disabled: true, File: "c.json", Line: 13, Source: "user", Hash: webHash, Key: cfg.Servers[0].Key, Lifecycle: lifecycle.Default(),
	}, {
		Name: "fs", Transport: "stdio", Inferred: true, Command: "/home/user/bin/fs",
		Args: []string{"--root", "/srv", "${HOME}", "${x%y}", "d", ""},
		Env:  map[string]secret.Value{"PORT": "8080", "F": "1.50", "ON": "true", "API_KEY": "k-not-so-plain", "A": "b"},
		Dir:  "/home/user/work", StartTimeout: time.Minute, CallTimeout: 5 * time.Second, TrustHints: &no,
		File: "c.json", Line: 4, Source: "user", Hash: fsHash, Key: cfg.Servers[1].Key, Lifecycle: fsLife,
	}}
	if diff := cmp.Diff(want, cfg.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	rule := func(p string, line int) Rule { return Rule{Pattern: p, File: "c.json", Line: line, Source: "user"} }
	wantPerms := Permissions{
		Deny: []Rule{rule("mcp.fs.write_*", 17)}, Allow: []Rule{rule("mcp.fs.*", 18), rule("mcp__Web__get", 19)},
		Risk: map[string]RiskLabel{"mcp.fs.a": {"read", "", 20}, "mcp.fs.b": {"destructive", "sha256:1", 20}},
	}
	if diff := cmp.Diff(wantPerms, cfg.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if want := (Log{"full", "/home/user/log"}); cfg.Log != want || cfg.Path != "c.json" {
		t.Errorf("log %v, path %q", cfg.Log, cfg.Path)
	}
	wantSecrets := []string{"0123456789", "Bearer pat-12345678", "k-not-so-plain", "not-so-plain", "pass%40word1", "pass@word1", "pat-12345678"}
	if diff := cmp.Diff(wantSecrets, cfg.Secrets()); diff != "" { // K2
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func TestSecretNames(t *testing.T) { // K2
	for name, want := range map[string]bool{
		"GITHUB_TOKEN": true, "apiKey": true, "x-api-key": true, "DB_PASS": true, "GH_PAT": true, "Authorization": true, "Cookie": true,
		"PATH": false, "HOME": false, "GIT_AUTHOR_NAME": false, "NODE_PATH": false, "KEYBOARD": false, "COMPASS": false, "SSH_AUTH_SOCK": false, "LC_ALL": false,
	} {
		if got := secretName(name); got != want {
			t.Errorf("secretName(%q) = %v", name, got)
		}
	}
	in := `{"servers": {"s": {"command": "${HOME}/bin/x", "args": ["${CREDENTIAL}", "${PATH}"],
		"env": {"AUTH_HOME": "${HOME}", "KEY_FILE": "${HOME}/key", "TOKEN": "short", "NAME": "${OTHER}"}}}}`
	cfg, err := Parse("c", []byte(in), vars("HOME", "/home/longuser", "PATH", "/usr/bin:/bin", "CREDENTIAL", "cred-of-var", "OTHER", "other-value"))
	if err != nil || len(cfg.Servers) != 1 {
		t.Fatal(err, cfg.Problems)
	}
	if diff := cmp.Diff([]string{"/home/longuser/key", "cred-of-var"}, cfg.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func TestHashIsOfTheEntryBeforeExpansion(t *testing.T) {
	hash := func(entry, value string) string {
		cfg, err := Parse("c", []byte(`{"servers": {"s": `+entry+`}}`), vars("V", value))
		if err != nil || len(cfg.Servers) != 1 {
			t.Fatal(err, cfg.Problems)
		}
		return cfg.Servers[0].Hash
	}
	base := hash(`{"command": "${V}", "env": {"N": 1}}`, "x")
	for entry, same := range map[string]bool{
		"{ // c\n\"env\": {\"N\": 1,}, \"command\": \"\\u0024{V}\"}": true,
		`{"command": "${V}", "env": {"N": 1.0}}`:                     false,
		`{"command": "y", "env": {"N": 1}}`:                          false,
	} {
		if got := hash(entry, "y"); (got == base) != same {
			t.Errorf("%s: same hash %v, want %v", entry, got == base, same)
		}
	}
	// sha256 of {"command":"x"}
	if got := hash(`{"command": "x"}`, ""); got != "sha256:cf35b664f0e85cbf24dfda38ea6991fa01d9d315e402baacd2c02f2e92d0947a" {
		t.Errorf("hash %s", got)
	}
}

func TestNoSecretInAnyMessage(t *testing.T) { // G4
	const canary = "CANARY-7f3a"
	values := []string{`"%s"`, `["%s"]`, `{"a": "%s"}`, `{"a": ["%s"]}`, `"${V}"`, `{"a": "${V}"}`, `["${V}\u0000"]`, `"${V}${NOPE}"`,
		`{"TOKEN": "x\n%s"}`, `{"a b": "${V}\r\n"}`, `{"risk": "%s", "hash": "%s"}`, `{"ca": "%s", "cert": "${V}", "serverName": "%s/"}`, `%s`, `"%s`, `"%s\x"`, `{"%s" 1}`, `// %s`}
	fields := append(serverFields(), "timeout", "enabled", "oauth", "other", "bearer_token_env_var", "serverUrl", "permissions", "deny", "risk", "durability", "dir", "mcpServers", "inputs",
		"defaults", "profile", "locale", "errors", "codes", "texts", "timeout", "base", "attempts")
	seen := 0
	for _, name := range fields {
		for _, v := range values {
			v = strings.ReplaceAll(v, "%s", canary)
			for _, in := range []string{
				`{"servers": {"s": {"` + name + `": ` + v + `}}}`, `{"servers": {"s": {"command": "x", "` + name + `": ` + v + `}}}`,
				`{"` + name + `": ` + v + `}`, `{"permissions": {"` + name + `": ` + v + `}}`, `{"log": {"` + name + `": ` + v + `}}`,
				`{"defaults": {"` + name + `": ` + v + `}}`, `{"errors": {"` + name + `": ` + v + `}}`, `{"errors": {"texts": {"` + name + `": ` + v + `}}}`,
				`{"errors": {"texts": {"timeout": {"en": ` + v + `}}, "codes": {"7": ` + v + `}}}`, `{"defaults": {"retry": {"` + name + `": ` + v + `}}}`,
			} {
				cfg, err := Parse("c", []byte(in), vars("V", canary+"\n"))
				said := fmt.Sprint(err)
				if err == nil {
					said = fmt.Sprintf("%v %+v %#v", cfg.Problems, cfg.Problems, cfg.Problems)
					cfg.Servers, cfg.Permissions, cfg.Log = nil, Permissions{}, Log{}
					said += fmt.Sprintf("%v %+v %#v", cfg, *cfg, *cfg)
				}
				if strings.Contains(said, "7f3a") {
					t.Errorf("%s\nsays %s", in, said)
				}
				if err != nil || len(cfg.Problems) > 0 {
					seen++
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d inputs had a message", seen)
	}
}

func TestIncompletePermissions(t *testing.T) {
	for in, want := range map[string]bool{
		`{"permissions": {"deny": ["a"]}}`: false, `{"permissions": {"deny": "a"}}`: true, `{"permissions": []}`: true,
		`{"permissions": {"denny": ["a"]}}`: true, `{"other": 1, "servers": {"s": {}}}`: false,
	} {
		cfg, err := Parse("c", []byte(in), nil)
		if err != nil || cfg.Permissions.Incomplete != want {
			t.Errorf("%s: %v %v", in, cfg.Permissions.Incomplete, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"", filepath.Join(dir, "none.json"), filepath.Join(dir, "no", "folder.json")} {
		if cfg, err := Load(path, nil); err != nil || len(cfg.Servers) != 0 || cfg.Path != path || cfg.Log.Durability != "process" {
			t.Errorf("Load(%q) = %+v, %v", path, cfg, err)
		}
	}
	path := filepath.Join(dir, "c.json")
	for in, want := range map[string]int{"": 0, "\xef\xbb\xbf": 0, " // nothing yet": 0, full: 2} {
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := Load(path, vars("HOME", "/h", "EMPTY", "", "PLAIN", "x", "WEB_PAT", "y"))
		if err != nil || len(cfg.Servers) != want || len(cfg.Problems) > 0 {
			t.Errorf("%.20q: %+v, %v", in, cfg, err)
		}
	}
	var p *Problem
	if _, err := Parse("c", []byte("{"), nil); !errors.As(err, &p) || p.Line != 1 || p.Column != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := Load(dir, nil); err == nil || errors.As(err, &p) && p.Line == 0 {
		t.Errorf("a folder: %v", err)
	}
}

func TestDefaultPath(t *testing.T) {
	for want, env := range map[string][]string{
		"/c":                               {"USHER_CONFIG", "/c", "XDG_CONFIG_HOME", "/x", "HOME", "/h"},
		"/x/usher/mcp.config.json":         {"XDG_CONFIG_HOME", "/x", "HOME", "/h"},
		"/h/.config/usher/mcp.config.json": {"XDG_CONFIG_HOME", "x", "USHER_CONFIG", "", "HOME", "/h"},
		"":                                 {},
	} {
		if got := DefaultPath(vars(env...)); got != want {
			t.Errorf("%v: %q, want %q", env, got, want)
		}
	}
}
