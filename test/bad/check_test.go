package bad_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// check is what must hold whatever was done to Usher, once it has ended.
func (w *world) check(t *testing.T) {
	t.Helper()
	w.noProcess(t)
	w.logWhole(t)
}

// noProcess waits until nothing of this world runs any more: a watchdog needs a moment.
func (w *world) noProcess(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return len(w.running()) == 0 }, func() { t.Errorf("left running: %q", w.running()) })
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, is func() bool, never func()) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			never()
			return
		}
	}
}

// running lists the processes that have the world's folder in their command line or environment.
func (w *world) running() (commands []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if strings.Contains(string(line), w.dir+"/") || strings.Contains(string(env), "HOME="+w.dir+"\x00") {
			commands = append(commands, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return commands
}

// logged is one line of `usher events --json`.
type logged struct {
	Type string
	Data struct {
		ToolCallID, Tool, Reason, Message, Server string
	}
}

func (w *world) events(t *testing.T) (all []logged) {
	t.Helper()
	r := w.run(t, "events", "--json")
	if r.code != 0 {
		t.Fatalf("usher events: exit code %d: %s", r.code, r.err)
	}
	for line := range strings.Lines(r.out) {
		var e logged
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// logWhole checks that the log verifies, and that each call in it has exactly one end.
func (w *world) logWhole(t *testing.T) {
	t.Helper()
	r := w.run(t, "events", "verify", "--json")
	var verdict struct {
		OK              bool
		Problems, Notes []any
	}
	if err := json.Unmarshal([]byte(r.out), &verdict); err != nil || r.code != 0 || !verdict.OK || len(verdict.Problems) > 0 || len(verdict.Notes) > 0 {
		t.Errorf("usher events verify: exit code %d: %s%s", r.code, r.out, r.err)
	}
	ends := map[string]int{}
	for _, e := range w.events(t) {
		switch e.Type {
		case "model.tool_call_requested":
			ends[e.Data.ToolCallID] += 0
		case "tool.completed", "tool.failed":
			ends[e.Data.ToolCallID]++
		}
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("call %s has %d ends", id, n)
		}
	}
}

// calls counts what reached the good server. Calls that must not reach it have the id "bad".
func (w *world) calls(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(w.reached)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if strings.Contains(string(b), " bad\n") {
		t.Errorf("a bad call reached the server:\n%s", b)
	}
	return strings.Count(string(b), "\n")
}
