// Package many_test runs many servers, and many sessions on one.
package many_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/transport/stdio"
)

// world is a host to be, with the program of its servers.
type world struct {
	dir, program string
	watched      bool // children have a watchdog
	servers      []usher.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{dir: dir, program: filepath.Join(dir, "server")}
	if out, err := exec.Command("go", "build", "-o", w.program, "./server").CombinedOutput(); err != nil { // without the race detector
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return w
}

func (w *world) notesOf(name string) string { return filepath.Join(w.dir, name+".notes") }

// add configures a server. A restart waits for 10 ms, so that tests need not.
func (w *world) add(name string, args ...string) {
	life := usher.DefaultLifecycle()
	life.Restart.Base = 10 * time.Millisecond
	var l sandbox.Launcher
	if w.watched {
		l.Watchdog = []string{w.program, "__watchdog"}
	}
	w.servers = append(w.servers, usher.Server{
		Name: name, Kind: "stdio", TrustHints: true, Lifecycle: &life,
		Transport: stdio.New(stdio.Options{Command: w.program, Args: append(args, "-journal", w.notesOf(name)), Launcher: l}),
	})
}

// open returns the host, with all servers up. The function ends it and its log.
func (w *world) open(t *testing.T) (*usher.Host, func()) {
	t.Helper()
	// What the log knows of the sessions in a file goes with the file: small ones, lest that be taken for a leak.
	log, err := journal.Open(t.Context(), journal.Options{Dir: filepath.Join(w.dir, "log"), RotateBytes: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	h, err := usher.Open(t.Context(), usher.Options{Servers: w.servers, Log: log, HostSession: log.Host()})
	if err != nil {
		t.Fatal(err)
	}
	h.Ready(t.Context())
	for _, s := range h.Servers() {
		if s.State != "up" {
			t.Fatalf("%s is %s: %v", s.Name, s.State, s.Err)
		}
	}
	return h, func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

func session(t *testing.T, h *usher.Host) *usher.Session {
	t.Helper()
	s, err := h.Session(usher.SessionOptions{Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(t *testing.T, s *usher.Session, server string) error {
	_, err := s.Call(t.Context(), "mcp."+server+".echo", nil)
	return err
}

// note is a line that a server wrote.
type note struct {
	what string
	at   time.Time
	pid  int
}

func (w *world) notes(t *testing.T, name string) (all []note) {
	t.Helper()
	b, err := os.ReadFile(w.notesOf(name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var n note
		var nanos int64
		if _, err := fmt.Sscan(line, &n.what, &nanos, &n.pid); err != nil {
			t.Fatalf("%s: %q", name, line)
		}
		n.at = time.Unix(0, nanos)
		all = append(all, n)
	}
	return all
}

// eventually waits for what nobody tells.
func eventually(t *testing.T, what string, good func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !good(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it never came to be: " + what)
		}
	}
}

func numbered(i int) string { return "s" + strconv.Itoa(i) }
