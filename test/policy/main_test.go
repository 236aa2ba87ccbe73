// Package policy_test holds who may run what against what went wrong elsewhere: the classes of published holes in MCP hosts that
// concern configuration, trust and approval, each on the real command with real servers, clients and files. A server here
// writes down its start and each call, so a test asks it what happened, and not usher.
//
// Each test says how it was seen failing: with which check taken out of the command.
package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds what is waited for; nothing here takes a tenth of it.
const patience = 30 * time.Second

// binaries is the folder that TestMain builds into.
var binaries string

// managedPath is the administrator's file as the command is linked here, seen from the folder that is worked in.
const managedPath = "../etc/managed-mcp.json"

// TestMain builds the command. USHER_TEST_OVERLAY may name a file for go build -overlay: that is how a check is taken out.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "usher-policy-")
	if err == nil {
		binaries = dir
		link := "-X github.com/usher-mcp/usher/config.managedPath=" + managedPath
		err = errors.Join(build("usher", "../../cmd/usher", "-ldflags", link, "-overlay", os.Getenv("USHER_TEST_OVERLAY")), build("puppet", "./puppet"))
	}
	flag.Parse()
	err = errors.Join(err, flag.Set("test.parallel", "8")) // a test mostly waits for others
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(name, from string, flags ...string) error {
	args := append([]string{"build", "-o", filepath.Join(binaries, name)}, flags...)
	out, err := exec.Command("go", append(args, from)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", from, err, out)
	}
	return nil
}

// world is one user's machine: a home, an administrator's folder, and a repository that one works in.
type world struct{ dir, home, repo, config, data, usher, puppet string }

// newWorld is parallel to all others.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "up") // short, for the paths of sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{dir: dir, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"), usher: filepath.Join(dir, "usher"), puppet: filepath.Join(dir, "puppet")}
	w.config, w.data = filepath.Join(w.home, ".config/usher/mcp.config.json"), filepath.Join(w.home, ".local/share/usher")
	for _, folder := range []string{filepath.Dir(w.config), filepath.Join(w.repo, ".git"), filepath.Join(dir, "etc")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"usher", "puppet"} {
		if err := os.Link(filepath.Join(binaries, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { w.noneLeft(t) })
	return w
}

// object is one of JSON.
type object = map[string]any

// entry runs a server; what happens to it stands in the journal of that name.
func (w *world) entry(name string, more ...string) object {
	return object{"command": w.puppet, "args": append([]string{"-journal", w.journal(name)}, more...)}
}

func (w *world) journal(name string) string { return filepath.Join(w.dir, name+".journal") }

// write writes a file below the world's folder; what isn't text is written as JSON. A half is never seen.
func (w *world) write(t *testing.T, name string, content any) {
	t.Helper()
	text, ok := content.(string)
	if !ok {
		b, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.dir, name)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name+".new", []byte(text), 0o600), os.Rename(name+".new", name)); err != nil {
		t.Fatal(err)
	}
}

// configure writes the user's file. A call doesn't wait for an answer, unless the file says so.
func (w *world) configure(t *testing.T, c object) {
	t.Helper()
	if _, said := c["approvals"]; !said {
		c["approvals"] = object{"wait": "0s"}
	}
	w.write(t, w.config, c)
}

// journaled are the lines of a journal that begin with a word, without it.
func (w *world) journaled(t *testing.T, name, word string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(w.journal(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word+" "); ok {
			all = append(all, rest)
		}
	}
	return all
}

func (w *world) starts(t *testing.T, name string) int { return len(w.journaled(t, name, "start")) }

// calls counts those of a tool that reached the server.
func (w *world) calls(t *testing.T, name, tool string) (n int) {
	t.Helper()
	for _, c := range w.journaled(t, name, "call") {
		if strings.HasPrefix(c, `["`+tool+`",`) {
			n++
		}
	}
	return n
}

// neverStarted checks that no server of these names has run.
func (w *world) neverStarted(t *testing.T, after string, names ...string) {
	t.Helper()
	for _, name := range names {
		if n := w.starts(t, name); n > 0 {
			t.Errorf("after %s: %s was started %d times: %s", after, name, n, w.journaled(t, name, "start"))
		}
	}
}

func (w *world) environ(more ...string) []string {
	return append([]string{"HOME=" + w.home, "PATH=" + w.dir + ":" + os.Getenv("PATH")}, more...)
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.usher, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.repo, w.environ(), patience
	return cmd
}

// result is how a run of the command ended.
type result struct {
	code int
	text string // all that it said
}

// run runs the command to its end.
func (w *world) run(t *testing.T, args ...string) result {
	t.Helper()
	return w.finish(t, func(ctx context.Context) *exec.Cmd { return w.command(ctx, args...) })
}

func (w *world) finish(t *testing.T, start func(context.Context) *exec.Cmd) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	cmd := start(ctx)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String()}
}

// works runs the command to a good end.
func (w *world) works(t *testing.T, args ...string) string {
	t.Helper()
	r := w.run(t, args...)
	if r.code != 0 {
		t.Errorf("usher %q: exit code %d: %s", args, r.code, r.text)
	}
	return r.text
}

// fails runs the command to an end with a code and a text with all parts.
func (w *world) fails(t *testing.T, code int, parts []string, args ...string) {
	t.Helper()
	r := w.run(t, args...)
	if r.code != code {
		t.Errorf("usher %q: exit code %d, want %d: %s", args, r.code, code, r.text)
	}
	contains(t, r.text, parts...)
}

// contains looks for parts of a text, wherever it was wrapped.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(flat, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it never came to be: " + what)
		}
	}
}

// noneLeft waits until nothing of this world runs any more; a watchdog needs a moment.
func (w *world) noneLeft(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); ; <-tick.C {
		left := w.running()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left running: %q", left)
			return
		}
	}
}

func (w *world) running() (commands []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		line, _ := os.ReadFile(name)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if strings.Contains(string(line), w.dir+"/") || strings.Contains(string(env), "HOME="+w.home+"\x00") {
			commands = append(commands, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return commands
}
