package flows

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	corpus = flag.String("corpus", "", "a file of JSON lines with a text each, which the agent is to read instead of our own")
	server string // the program of the servers
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "usher-flows-")
	code := 1
	if err == nil {
		server = filepath.Join(dir, "server")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", server, "./server").CombinedOutput(); err == nil {
			code = m.Run()
		} else {
			fmt.Fprintf(os.Stderr, "go build: %s\n", out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newWorld(t *testing.T, o Options) *World {
	t.Helper()
	o.Server, o.Dir = server, t.TempDir()
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func newAgent(t *testing.T, w *World, client string) *Agent {
	t.Helper()
	a, err := w.NewAgent(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range a.Lost {
			t.Error("lost: ", err)
		}
	})
	return a
}

func newSession(t *testing.T, a *Agent) {
	t.Helper()
	if err := a.NewSession(); err != nil {
		t.Fatal(err)
	}
}

func leaked(t *testing.T, w *World) []string {
	t.Helper()
	where, err := w.Leaked()
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// reached waits until a server has had a call.
func reached(t *testing.T, w *World, role string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if info, err := os.Stat(w.journal(role)); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatalf("no call reached %s", role)
}
