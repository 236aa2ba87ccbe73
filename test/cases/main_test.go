package cases_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds what is waited for; nothing here takes a tenth of it.
const patience = 30 * time.Second

// binaries is the folder that TestMain builds into.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "usher-cases-")
	if err == nil {
		binaries = dir
		err = errors.Join(build("usher", "../../cmd/usher"), build("server", "./server"))
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(name, from string) error {
	out, err := exec.Command("go", "build", "-o", filepath.Join(binaries, name), from).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", from, err, out)
	}
	return nil
}

// world is one user's machine. All that runs in it has dir in its environment or its command line.
type world struct{ dir, config, data, usher, server string }

// newWorld is parallel to all others.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	w := &world{
		dir: dir, config: filepath.Join(dir, "mcp.config.json"), data: filepath.Join(dir, "data"),
		usher: filepath.Join(dir, "usher"), server: filepath.Join(dir, "server"),
	}
	for _, name := range []string{"usher", "server"} {
		if err := os.Link(filepath.Join(binaries, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// object is one of JSON.
type object = map[string]any

// entry runs the server; what happens to it stands in the journal of that name.
func (w *world) entry(name string, flags ...string) object {
	return object{"command": w.server, "args": append(flags, "-journal", w.journal(name))}
}

// with is an entry with more fields.
func with(entry object, fields object) object {
	for k, v := range fields {
		entry[k] = v
	}
	return entry
}

// soon restarts a server, as often as by default, without the waits.
var soon = object{"base": "20ms", "cap": "80ms"}

func (w *world) journal(name string) string { return filepath.Join(w.dir, name+".journal") }

func (w *world) configure(t *testing.T, servers object) {
	t.Helper()
	b, err := json.Marshal(object{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	next := w.config + ".new" // a half is never seen
	if err := errors.Join(os.WriteFile(next, b, 0o600), os.Rename(next, w.config)); err != nil {
		t.Fatal(err)
	}
}

// note is a line of a journal.
type note struct {
	what   string
	pid    int
	detail string
}

func (w *world) notes(t *testing.T, name, what string) (all []note) {
	t.Helper()
	b, err := os.ReadFile(w.journal(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) < 3 || f[0] != what {
			continue
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatalf("%s: %q", name, line)
		}
		all = append(all, note{f[0], pid, f[2]})
	}
	return all
}

// starts counts the processes that a server has had.
func (w *world) starts(t *testing.T, name string) int { return len(w.notes(t, name, "start")) }

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.usher, append([]string{"--config", w.config, "--data", w.data}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + w.dir + ":" + os.Getenv("PATH")}
	cmd.WaitDelay = patience
	return cmd
}

// run runs the command to its end, which must be a good one, and returns what it said.
func (w *world) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := w.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("usher %v: %v\n%s", args, err, stderr.String())
	}
	return out.String()
}

// status is what `usher servers` says of a server.
type status struct {
	Name, State string
	PID         int
	Raw         string `json:"-"`
}

func (w *world) status(t *testing.T, name string) status {
	t.Helper()
	var all struct{ Servers []json.RawMessage }
	out := w.run(t, "servers", "--json")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	for _, raw := range all.Servers {
		s := status{Raw: string(raw)}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if s.Name == name {
			return s
		}
	}
	return status{}
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it never came to be: " + what)
		}
	}
}

// noneLeft waits until nothing runs any more that has all parts in its command line and, like everything in this world,
// its folder there or in its environment. A watchdog needs a moment.
func (w *world) noneLeft(t *testing.T, parts ...string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Second); ; <-tick.C {
		left := w.running(parts...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left running: %q", left)
			return
		}
	}
}

func (w *world) running(parts ...string) (commands []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		text := strings.ReplaceAll(string(line), "\x00", " ")
		ours := strings.Contains(text, w.dir+"/") || strings.Contains(string(env), "HOME="+w.dir+"\x00")
		for _, part := range parts {
			ours = ours && strings.Contains(text, part)
		}
		if ours {
			commands = append(commands, e.Name()+" "+text)
		}
	}
	return commands
}
