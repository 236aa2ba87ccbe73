// Package bad_test gives Usher bad input from every side, as it comes in life: the real binary with a broken
// configuration, broken servers, broken clients and a broken disk. Each time it asks what the user is told, that all
// else goes on, that the log is whole, and that nothing is left running.
package bad_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "usher-bad-")
	if err == nil {
		binaries = dir
		err = build("usher", "../../cmd/usher")
	}
	if err == nil {
		err = build("server", "../server")
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
type world struct {
	disk              string // a small one of its own; empty: there is none
	dir, config, data string
	usher, server     string
	reached           string // the journal of the server "good": a line for each call that reached it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		dir: dir, config: filepath.Join(dir, "mcp.config.json"), data: filepath.Join(dir, "data"),
		usher: filepath.Join(dir, "usher"), server: filepath.Join(dir, "server"), reached: filepath.Join(dir, "reached"),
	}
	for _, name := range []string{"usher", "server"} {
		if err := os.Link(filepath.Join(binaries, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// configure writes the configuration. GOOD stands for the entry of a server that works, and that starts
// a child which leaves its process group; SERVER for its program.
func (w *world) configure(t *testing.T, text string) {
	t.Helper()
	good := fmt.Sprintf(`"good": {"command": %q, "args": ["-journal", %q, "-orphan", %q]}`,
		w.server, w.reached, filepath.Join(w.dir, "orphan"))
	text = strings.NewReplacer("GOOD", good, "SERVER", fmt.Sprintf("%q", w.server)).Replace(text)
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.usher, append([]string{"--config", w.config, "--data", w.data}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = patience
	return cmd
}

// result is how a run of the command ended.
type result struct {
	code     int
	out, err string
}

// run runs the command to its end.
func (w *world) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := w.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("usher %v: %v\n%s", args, err, stderr.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// fails checks that a command failed with a code, that its message has all parts, and that it says what to do next: the
// line behind the message, or part of it.
func (w *world) fails(t *testing.T, code int, parts []string, args ...string) {
	t.Helper()
	r := w.run(t, args...)
	if r.code != code {
		t.Errorf("usher %v: exit code %d, want %d: %s", args, r.code, code, r.err)
	}
	if r.out != "" {
		t.Errorf("usher %v: output %q", args, r.out)
	}
	contains(t, r.err, parts...)
	_, hint, _ := strings.Cut(r.err, "\n")
	advice := strings.HasPrefix(hint, "  ") && strings.TrimSpace(hint) != ""
	advice = advice || strings.Contains(r.err, "did you mean ") || strings.Contains(r.err, "call one by its full name: ")
	if !strings.HasPrefix(r.err, "usher: ") || !advice {
		t.Errorf("usher %v: it doesn't say what to do next: %s", args, r.err)
	}
}

// goodWorks calls the server that works.
func (w *world) goodWorks(t *testing.T) {
	t.Helper()
	if r := w.run(t, "call", "mcp.good.echo", "text=still here"); r.code != 0 || r.out != "still here\n" {
		t.Errorf("the good server: exit code %d, %q: %s", r.code, r.out, r.err)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
}
