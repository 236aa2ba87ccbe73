package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseFrom reads a file and returns its problems without the file's name.
func parseFrom(t *testing.T, in string, from From) (*Config, []string) {
	t.Helper()
	cfg, err := ParseFrom("f.json", []byte(in), from)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range cfg.Problems {
		all = append(all, strings.TrimPrefix(p.Error(), "f.json:"))
	}
	return cfg, all
}

func namesOf(servers []Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

// everything has each field that a project can't have, and some that it can.
const everything = `{"mcpServers": {"s": {"command": "s", "trustHints": true}}, "flows": {"mode": "off", "inherit": 0, "labels": {"a": ["private"], "b": []}},
"permissions": {"deny": ["d"], "ask": ["a"], "allow": ["*"], "risk": {"x": "read"}, "mode": "bypass", "modes": ["bypass"], "grants": []},
"profile": "minimal", "defaults": {"restart": false}, "log": {"dir": "/x"}, "locale": "zh", "errors": {}, "approvals": {"keep": "1s"}, "projects": {},
"allowedServers": [], "deniedMcpServers": [], "trustedServers": [], "allowManagedServersOnly": true, "$schema": "x", "colour": 1}`

func TestWhatASourceCanSay(t *testing.T) { // F2 F3 G2
	rule := func(p string, source string) []Rule {
		return []Rule{{Pattern: p, File: "f.json", Line: 2, Source: source}}
	}
	cfg, problems := parseFrom(t, everything, From{Source: SourceProject, Trusted: func(string, string) bool { return true }})
	const own, project = "put it into your own configuration", "ignored: a project's file can't say this; "
	want := []string{
		`1: mcpServers.s.trustHints: ignored: a project can't say whether its servers' hints are trusted; put the server into your own configuration`,
		`1: flows.mode: ignored: a project's file can only add labels; put this into your own configuration`,
		`1: flows.inherit: ignored: a project's file can only add labels; put this into your own configuration`,
		`1: flows.labels.b: ignored: a project's file can only add labels; write ["untrusted"], or remove it`,
	}
	for _, name := range []string{"allow", "risk", "mode", "modes", "grants"} {
		want = append(want, `2: permissions.`+name+`: ignored: a project's file can only deny and ask; put this into your own configuration`)
	}
	for _, name := range []string{"profile", "defaults", "log", "locale", "errors", "approvals", "projects"} {
		want = append(want, `3: `+name+`: `+project+own)
	}
	for _, name := range []string{"allowedServers", "deniedMcpServers", "trustedServers", "allowManagedServersOnly"} {
		want = append(want, `4: `+name+`: `+project+own)
	}
	want = append(want, "4: colour: "+unknown("colour", rootFields))
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	defaults := empty("f.json")
	if cfg.Servers[0].TrustHints != nil || cfg.Servers[0].Source != SourceProject || cfg.Profile.Name != ProfileEnterprise || cfg.Approvals != defaults.Approvals ||
		cfg.Log != defaults.Log || cfg.Locale != "en" || cfg.Flows.Mode != FlowsAsk || len(cfg.Flows.Labels) != 1 || cfg.Flows.Labels[0].Source != SourceProject {
		t.Errorf("got %+v", cfg)
	}
	if diff := cmp.Diff(Permissions{Deny: rule("d", "project"), Ask: rule("a", "project")}, cfg.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}

	cfg, problems = parseFrom(t, everything, From{Source: SourceImported})
	if cfg.Servers[0].TrustHints != nil || !cmp.Equal(cfg.Permissions, Permissions{Deny: rule("d", "imported"), Ask: rule("a", "imported"), Allow: rule("*", "imported")}) || len(problems) != 17 {
		t.Errorf("%+v\n%s", cfg, strings.Join(problems, "\n"))
	}
	cfg, problems = parseFrom(t, everything, From{Source: SourceManaged})
	if !*cfg.Servers[0].TrustHints || cfg.Permissions.Mode != ModeBypass || !slices.Equal(cfg.Permissions.Modes, []string{ModeBypass}) || len(problems) != 2 {
		t.Errorf("%+v\n%s", cfg, strings.Join(problems, "\n"))
	}
	cfg, problems = parseFrom(t, everything, From{Source: SourceCommandLine})
	if !*cfg.Servers[0].TrustHints || cfg.Permissions.Modes != nil || cfg.Profile.Name != ProfileMinimal || len(problems) != 7 {
		t.Errorf("%+v\n%s", cfg, strings.Join(problems, "\n"))
	}
}

// Of modes, nothing that is broken opens more.
func TestModesOfAManagedFile(t *testing.T) { // F7 G3
	for in, want := range map[string]string{
		`["default", "plan", "plan"]`: "default plan", `["plan", "x"]`: "plan", `["x"]`: "default", `[]`: "default", `"plan"`: "default",
	} {
		cfg, problems := parseFrom(t, `{"permissions": {"modes": `+in+`}}`, From{Source: SourceManaged})
		broken := strings.Contains(in, "x") || in[0] != '['
		if got := strings.Join(cfg.Permissions.Modes, " "); got != want || (len(problems) > 0) != broken || cfg.Permissions.Incomplete != broken {
			t.Errorf("%s: %q %v", in, got, problems)
		}
	}
}

// A project's entry is looked at as it is written until it is trusted. G2
func TestPendingEntries(t *testing.T) {
	const in = `{"mcpServers": {"old": {"command": "${HOME}/x", "args": ["${keyring:k}", "$${A}", "${NOPE}"], "cwd": "~/w", "env": {"TOKEN": "literal-secret"}},
"new": {"url": "${URL:-https://x}", "tls": {"ca": "~/ca.pem"}, "headers": {"A": "${HOME}"}}, "off": {"command": "x", "disabled": true}, "bad": {}}}`
	asked := func(what string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			if name != "HOME" {
				t.Errorf("%s was asked for %s", what, name)
			}
			return "/home/u", true
		}
	}
	from := From{Source: SourceProject, Folder: "/p", Env: asked("the environment"), Keyring: func(string) (string, error) { t.Error("the keyring was asked"); return "", nil }}
	cfg, problems := parseFrom(t, in, from)
	if namesOf(cfg.Pending) != "new off old" || len(cfg.Servers) != 0 || len(problems) != 1 {
		t.Fatalf("pending %q, servers %q, %q", namesOf(cfg.Pending), namesOf(cfg.Servers), problems)
	}
	old, fresh := cfg.Pending[2], cfg.Pending[0]
	if old.Command != "${HOME}/x" || !slices.Equal(old.Args, []string{"${keyring:k}", "$${A}", "${NOPE}"}) || old.Dir != "~/w" {
		t.Errorf("%+v", old)
	}
	if fresh.URL != "${URL:-https://x}" || fresh.TLS.CA != "~/ca.pem" || fresh.Headers["A"].Reveal() != "${HOME}" {
		t.Errorf("%+v", fresh)
	}
	if !slices.Contains(cfg.Secrets(), "literal-secret") {
		t.Errorf("secrets %q", cfg.Secrets())
	}

	hash := old.Hash
	from.Trusted = func(name, h string) bool { return name == "old" && h == hash }
	from.Env, from.Keyring = vars("HOME", "/home/u", "NOPE", "n"), func(name string) (string, error) { return "from-" + name, nil }
	cfg, problems = parseFrom(t, in, from)
	if namesOf(cfg.Pending) != "new off" || namesOf(cfg.Servers) != "old" || len(problems) != 1 {
		t.Fatalf("pending %q, servers %q, %q", namesOf(cfg.Pending), namesOf(cfg.Servers), problems)
	}
	if s := cfg.Servers[0]; s.Command != "/home/u/x" || !slices.Equal(s.Args, []string{"from-k", "${A}", "n"}) || s.Dir != "/home/u/w" || s.Hash != hash {
		t.Errorf("%+v", s)
	}
	cfg, _ = parseFrom(t, strings.Replace(in, `"TOKEN"`, `"tOKEN"`, 1), from)
	if namesOf(cfg.Servers) != "" || namesOf(cfg.Pending) != "new off old" {
		t.Errorf("trusted though it changed: %q", namesOf(cfg.Servers))
	}
}

func TestFolderOfAProjectsServer(t *testing.T) {
	for cwd, want := range map[string]string{`""`: "/p", `"sub"`: "/p/sub", `"/abs"`: "/abs", `"~/x"`: "/home/u/x", `"../x"`: "/x"} {
		from := From{Source: SourceProject, Folder: "/p", Env: vars("HOME", "/home/u"), Trusted: func(string, string) bool { return true }}
		cfg, _ := parseFrom(t, `{"servers": {"s": {"command": "./x", "cwd": `+cwd+`}}}`, from)
		if got := cfg.Servers[0].Dir; got != want {
			t.Errorf("%s: %q", cwd, got)
		}
		cfg, _ = parseFrom(t, `{"projects": {"/p": {"servers": {"s": {"command": "./x", "cwd": `+cwd+`}}}}}`, From{Source: SourceLocal, Folder: "/p/below", Env: from.Env})
		if got := cfg.Servers[0].Dir; got != want {
			t.Errorf("local %s: %q", cwd, got)
		}
	}
}

func TestLocal(t *testing.T) { // G2
	const in = `{"mcpServers": {"user": {"command": "u"}}, "permissions": {"deny": ["u"]}, "bogus": 1, "projects": {
"/a": {"mcpServers": {"a": {"command": "a"}}, "permissions": {"allow": ["mcp.a.*"], "deny": [1]}},
"/a/b/": {"mcpServers": {"b": {"command": "b", "trustHints": true}, "b": {"command": "c"}}, "log": {}, "colour": 1},
"/ab": {"mcpServers": {"ab": {"command": "ab"}}}, "~/p": {"mcpServers": {"p": {"command": "p"}}}}}`
	for folder, want := range map[string]string{"/": "", "/a": "a", "/a/x/y": "a", "/a/b": "b", "/a/b/c": "b", "/abc": "", "/ab": "ab", "/home/u/p/q": "p", "": ""} {
		cfg, _ := parseFrom(t, in, From{Source: SourceLocal, Folder: folder, Env: vars("HOME", "/home/u")})
		if got := namesOf(cfg.Servers); got != want {
			t.Errorf("%s: servers %q, want %q", folder, got, want)
		}
		if folder == "/a" && (!cfg.Permissions.Incomplete || len(cfg.Permissions.Allow) != 1 || cfg.Permissions.Allow[0].Source != SourceLocal || len(cfg.Permissions.Deny) != 0) {
			t.Errorf("%+v", cfg.Permissions)
		}
	}
	_, problems := parseFrom(t, in, From{Source: SourceLocal, Folder: "/a/b"})
	want := []string{
		`3: projects["/a/b/"].mcpServers.b: this name is already used in line 3; rename one of the servers`,
		`3: projects["/a/b/"].log: ignored: this is for all folders; put it at the top of the file`,
		`3: projects["/a/b/"].colour: ` + unknown("colour", rootFields)}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A folder may be reached by a link, in the file or in the shell.
func TestLocalThroughALink(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	cfg, _ := parseFrom(t, `{"projects": {"`+link+`": {"servers": {"s": {"command": "s"}}}}}`, From{Source: SourceLocal, Folder: real})
	if namesOf(cfg.Servers) != "s" {
		t.Error("the link isn't the folder")
	}
}

// The profile and the defaults of the user's file hold for the servers of the others.
func TestBase(t *testing.T) { // A6
	base, _ := parseFrom(t, `{"profile": "professional", "defaults": {"callTimeout": "7s", "idempotent": ["x"]}}`, From{})
	cfg, _ := parseFrom(t, `{"servers": {"s": {"command": "s"}}}`, From{Source: SourceCommandLine, Base: base})
	if s := cfg.Servers[0].Lifecycle; s.Request.String() != "7s" || s.Breaker.Failures != 0 || !slices.Equal(s.Idempotent, []string{"x"}) || cfg.Profile.Name != ProfileProfessional {
		t.Errorf("%+v", s)
	}
	cfg, _ = parseFrom(t, `{"profile": "enterprise", "servers": {"s": {"command": "s"}}}`, From{Source: SourceCommandLine, Base: base})
	if s := cfg.Servers[0].Lifecycle; s.Request.String() == "7s" || s.Breaker.Failures == 0 || cfg.Profile.Name != ProfileEnterprise {
		t.Errorf("%+v", s)
	}
	cfg, _ = parseFrom(t, `{"defaults": {"callTimeout": "8s"}, "servers": {"s": {"command": "s", "breaker": true}}}`, From{Source: SourceCommandLine, Base: base})
	if s := cfg.Servers[0].Lifecycle; s.Request.String() != "8s" || s.Breaker.Failures == 0 || !slices.Equal(s.Idempotent, []string{"x"}) {
		t.Errorf("%+v", s)
	}
}

func TestKeyringReferences(t *testing.T) { // G4
	asked := map[string]int{}
	ring := func(name string) (string, error) {
		asked[name]++
		switch name {
		case "none":
			return "", errors.New("it isn't\x1b[31m there\n")
		case "nul":
			return "a\x00b", nil
		}
		return "secret-of-" + name, nil
	}
	in := `{"servers": {"s": {"command": "x", "args": ["--t=${keyring:a}", "${keyring:a}${keyring:b/c@d.e-f_g}", "$${keyring:a}", "${keyring:a"], "env": {"T": "${keyring:a}"}},
"r": {"url": "https://h/?k=${keyring:b}", "bearerToken": "${keyring:a}"}, "off": {"command": "${keyring:none}", "disabled": true}}}`
	cfg, problems := parseFrom(t, in, From{Keyring: ring})
	if len(problems) > 0 || namesOf(cfg.Servers) != "off r s" {
		t.Fatal(problems)
	}
	s, r := cfg.Servers[2], cfg.Servers[1]
	if want := []string{"--t=secret-of-a", "secret-of-asecret-of-b/c@d.e-f_g", "${keyring:a}", "${keyring:a"}; !slices.Equal(s.Args, want) || s.Env["T"].Reveal() != "secret-of-a" {
		t.Errorf("%q", s.Args)
	}
	if r.URL != "https://h/?k=secret-of-b" || r.Headers["Authorization"].Reveal() != "Bearer secret-of-a" || cfg.Servers[0].Command != "${keyring:none}" {
		t.Errorf("%+v", r)
	}
	if asked["a"] != 1 || asked["none"] != 0 {
		t.Errorf("asked %v", asked)
	}
	for _, secret := range []string{"secret-of-a", "secret-of-b", "secret-of-b/c@d.e-f_g"} {
		if !slices.Contains(cfg.Secrets(), secret) {
			t.Errorf("%q is not redacted", secret)
		}
	}
	const list = `{"servers": {"s": {"command": "x", "args": [`
	for in, want := range map[string]string{
		`"${keyring:none}${keyring:a}"`: `the secret none can't be had: it isn't [31m there ; run: usher secret set none`,
		`"${keyring:nul}"`:              `the secret nul can't be had: it has a NUL character, which can't be passed on; run: usher secret set nul`,
		`"${keyring:}"`:                 `the name of a secret has 1 to 128 letters, digits and . _ - / @, such as github-token; write ${keyring:github-token}`,
		`"${keyring:a:-b}"`:             `the name of a secret has 1 to 128 letters, digits and . _ - / @, such as github-token; write ${keyring:github-token}`,
	} {
		cfg, problems := parseFrom(t, list+in+`]}}}`, From{Keyring: ring})
		if len(cfg.Servers) != 0 || !slices.Equal(problems, []string{"1: mcpServers.s.args[0]: " + want}) && !slices.Equal(problems, []string{"1: servers.s.args[0]: " + want}) {
			t.Errorf("%s: %q %q", in, namesOf(cfg.Servers), problems)
		}
	}
	cfg, problems = parseFrom(t, list+`"${keyring:a}"]}}}`, From{})
	if len(cfg.Servers) != 0 || !slices.Equal(problems, []string{`1: servers.s.args[0]: the secret a can't be had: there is no keyring here; run: usher secret set a`}) {
		t.Errorf("%q", problems)
	}
}

// Another value is another server: the key has what the keyring says.
func TestKeyHasWhatTheKeyringSays(t *testing.T) { // C9
	key := func(value string) string {
		cfg, _ := parseFrom(t, `{"servers": {"s": {"command": "x", "env": {"T": "${keyring:k}"}}}}`, From{Keyring: func(string) (string, error) { return value, nil }})
		return cfg.Servers[0].Key
	}
	if key("one-secret") == key("two-secret") {
		t.Error("the key doesn't follow the keyring")
	}
}
