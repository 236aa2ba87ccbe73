// Package connect_test puts usher into configurations that the agents' own commands wrote, lets those commands read them
// again, and takes usher out to the byte. The agents are real ones: test/connect/install.sh installs them.
package connect_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const patience = 2 * time.Minute

// agent is a product with a command that writes its configuration.
type agent struct {
	name string   // as usher calls it
	path []string // of its program
	file string   // in the home folder
	add  []string // arguments that add a server of its own, jira
	list []string // arguments that list the servers
	live string   // what the list says of a server that it has talked to; "": it doesn't
}

var agents = []agent{
	{"codex", []string{"node_modules", ".bin", "codex"}, ".codex/config.toml",
		[]string{"mcp", "add", "jira", "--env", "A=b", "--", "npx", "-y", "jira-mcp"}, []string{"mcp", "list"}, ""},
	{"gemini", []string{"node_modules", ".bin", "gemini"}, ".gemini/settings.json",
		[]string{"mcp", "add", "-s", "user", "jira", "npx", "-y", "jira-mcp"}, []string{"mcp", "list"}, ""},
	{"mcporter", []string{"node_modules", ".bin", "mcporter"}, ".mcporter/mcporter.json",
		[]string{"config", "add", "jira", "--command", "npx", "--arg", "-y", "--arg", "jira-mcp", "--scope", "home"}, []string{"list", "jira"}, `function echo\(`},
	{"opencode", []string{"node_modules", "opencode-linux-x64-baseline", "bin", "opencode"}, ".config/opencode/opencode.jsonc",
		[]string{"mcp", "add", "jira", "--", "npx", "-y", "jira-mcp"}, []string{"mcp", "list"}, `jira.*connected`},
}

// desk is a home folder, with usher and a server in PATH.
type desk struct {
	t               *testing.T
	home, bin, here string
}

// O5: what each product wrote keeps its shape, the product finds usher's entries in it and, where it looks, usher behind
// them; the undo is exact.
func TestAgents(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "./install.sh").CombinedOutput(); err != nil {
		t.Fatalf("install.sh: %v\n%s", err, out)
	}
	bin := t.TempDir()
	for program, pkg := range map[string]string{"usher": "cmd/usher", "testserver": "test/server"} {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, program), "github.com/usher-mcp/usher/"+pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			d := &desk{t, t.TempDir(), bin, here}
			d.write(".config/usher/mcp.config.json", `{"mcpServers": {"jira": {"command": "testserver"}, "notes": {"command": "testserver"}}}`)
			d.write("project/x", "")
			d.round(a)
		})
	}
}

func (d *desk) round(a agent) {
	t := d.t
	if err := os.MkdirAll(filepath.Join(d.home, filepath.Dir(a.file)), 0o755); err != nil { // Codex wants it
		t.Fatal(err)
	}
	program := filepath.Join(append([]string{d.here}, a.path...)...)
	d.run(program, a.add...)
	before := d.read(a.file)
	if !strings.Contains(before, "jira-mcp") {
		t.Fatalf("%s wrote\n%s", a.name, before)
	}
	out := d.run("usher", "connect", a.name, "--yes")
	if !strings.Contains(out, "wrote ~/"+a.file) {
		t.Fatalf("usher says\n%s", out)
	}
	after := d.read(a.file)
	if strings.Contains(after, "jira-mcp") {
		t.Errorf("what goes past usher is still there:\n%s", after)
	}
	listed := d.run(program, a.list...)
	for _, want := range []string{"jira", "usher", "stdio --only jira", a.live} {
		if a.name == "mcporter" && strings.HasPrefix(want, "stdio --only") {
			continue // it shows no arguments there
		}
		if !regexp.MustCompile(want).MatchString(listed) {
			t.Errorf("%s lists no %q:\n%s", a.name, want, listed)
		}
	}
	if again := d.run("usher", "connect", a.name, "--yes"); !strings.Contains(again, "already") || d.read(a.file) != after {
		t.Errorf("connected again:\n%s", again)
	}
	d.run("usher", "connect", a.name, "--undo", "--yes")
	if got := d.read(a.file); got != before {
		t.Errorf("the undo isn't exact:\n%s\nit was\n%s", got, before)
	}
}

// run runs a program to its end, with nothing of this machine's in its environment.
func (d *desk) run(program string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if program == "usher" {
		program = filepath.Join(d.bin, program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(d.home, "project")
	node := filepath.Join(d.here, "..", "real", "node_modules", ".bin")
	cmd.Env = []string{
		"HOME=" + d.home, "NO_COLOR=1", "TERM=dumb", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
		"PATH=" + strings.Join([]string{d.bin, node, os.Getenv("PATH")}, string(os.PathListSeparator)),
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, &out)
	}
	return escapes.ReplaceAllString(out.String(), "")
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.home, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}
