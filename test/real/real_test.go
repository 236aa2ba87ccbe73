// Package real_test runs Usher against servers and a client that others wrote. install.sh brings them; a missing one
// fails the tests.
package real_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/standard"
)

// usherBinary is the command as a user builds it.
var usherBinary string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(standard.Watchdog())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if out, err := exec.Command("./install.sh").CombinedOutput(); err != nil {
		panic("install.sh: " + err.Error() + "\n" + string(out))
	}
	bin := filepath.Join(here, "node_modules", ".bin")
	if err := os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "usher-real-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	usherBinary = filepath.Join(dir, "usher")
	if out, err := exec.Command("go", "build", "-o", usherBinary, "../../cmd/usher").CombinedOutput(); err != nil {
		panic("go build: " + err.Error() + "\n" + string(out))
	}
	return m.Run()
}

// home is one user's world: a home folder, a working folder, a configuration.
type home struct {
	dir, work, config string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{dir: dir, work: filepath.Join(dir, "work"), config: filepath.Join(dir, "mcp.config.json")}
	if err := os.Mkdir(h.work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.work, "hello.txt"), []byte("hello from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// configure writes the user's file.
func (h *home) configure(t *testing.T, servers map[string]any, allow ...string) {
	t.Helper()
	c, err := json.MarshalIndent(map[string]any{"mcpServers": servers, "permissions": map[string]any{"allow": append([]string{}, allow...)}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.config, c, 0o600); err != nil {
		t.Fatal(err)
	}
}

// usher makes the command `usher …` in this world.
func (h *home) usher(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--config", h.config, "--data", filepath.Join(h.dir, "data"), "--dir", h.work}, args...)
	cmd := exec.CommandContext(ctx, usherBinary, args...)
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "NO_COLOR=1")
	cmd.Dir = h.work
	return cmd
}

// serve starts `usher serve` and returns its URL.
func (h *home) serve(t *testing.T) string {
	t.Helper()
	return h.serveAll(t).URL
}

// ends are the URLs of `usher serve`.
type ends struct{ URL, WS, SSE string }

// serveAll starts `usher serve`. It is ended with a signal, and must end by itself then.
func (h *home) serveAll(t *testing.T) ends {
	t.Helper()
	cmd := h.usher(context.Background(), "serve", "--listen", "127.0.0.1:0", "--json")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("usher serve ended with %v", err)
		}
	})
	var started ends
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || json.Unmarshal([]byte(line), &started) != nil || slices.Contains([]string{started.URL, started.WS, started.SSE}, "") {
		t.Fatalf("usher serve printed %q, %v", line, err)
	}
	return started
}

// background starts a server by others and waits until it listens.
func background(t *testing.T, address string, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("%s does not listen on %s", cmd.Path, address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// command runs cmd and returns its output; it must succeed.
func command(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.String())
	}
	return string(out)
}
