package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

// build makes the child with the tag killpoints.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "child")
	if out, err := exec.Command("go", "build", "-tags", "killpoints", "-o", bin, "./testdata/child").CombinedOutput(); err != nil {
		t.Fatalf("build the child: %v\n%s", err, out)
	}
	return bin
}

// world is a folder and what children that wrote to it have acknowledged.
type world struct{ bin, dir, acks, durability string }

func newWorld(t *testing.T, bin, durability string) world {
	top := t.TempDir()
	return world{bin: bin, dir: filepath.Join(top, "log"), acks: filepath.Join(top, "acks"), durability: durability}
}

// run lets a child write; env says where it dies. It reports whether it was killed.
func (w world) run(t *testing.T, env ...string) bool {
	t.Helper()
	cmd := exec.Command(w.bin, w.dir, w.acks, w.durability)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return false
}

// points are all places that the sources name.
func points(t *testing.T) []string {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`killpoint\.At\("([a-z.]+)"\)`).FindAllSubmatch(b, -1) {
			out = append(out, string(m[1]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// H5: killed at any point, the log keeps what was acknowledged, both verifiers pass, and the next start closes what
// was open, once. Each child starts in a folder that another one left torn and with open calls.
func TestKilledAnywhere(t *testing.T) {
	bin := build(t)
	all := points(t)
	if len(all) < 20 {
		t.Errorf("only %d points", len(all))
	}
	slots := make(chan struct{}, 2)
	var group sync.WaitGroup
	for _, point := range all {
		hits := []string{"", ":5"}
		if !strings.HasPrefix(point, "journal.rotate.") && !strings.HasPrefix(point, "journal.sync.") {
			hits = []string{"", ":5", ":30 LAZY=1"}
		}
		if strings.Contains(point, ".open.") || strings.Contains(point, ".close.") {
			hits = []string{"", " LAZY=1"} // passed once
		}
		for _, hit := range hits {
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				killedAt(t, bin, point, hit)
			})
		}
	}
	group.Wait()
}

func killedAt(t *testing.T, bin, point, hit string) {
	w := newWorld(t, bin, journal.DurabilityProcess)
	if strings.Contains(point, ".sync.") {
		w.durability = journal.DurabilityFull
	}
	first, lazy := "journal.write.half:27", strings.Contains(hit, "LAZY")
	hit, _, _ = strings.Cut(hit, " ")
	env := []string{}
	if lazy || strings.HasPrefix(point, "journal.recover.half") {
		first, env = "journal.append.queued:30", []string{"LAZY=1"}
	}
	if !w.run(t, append(env, "USHER_KILL_AT="+first)...) {
		t.Error("the first child was not killed at", first)
	}
	killed := w.run(t, append(env, "USHER_KILL_AT="+point+hit)...)
	if !killed && hit == "" {
		t.Errorf("%s: not passed", point)
	}
	if !killed && hit != "" {
		return // passed less often
	}
	if r, ok := verify(t, w.dir); !ok {
		t.Errorf("%s%s: after the kill: %v", point, hit, r.Problems)
	}
	for range 2 {
		j, err := journal.Open(t.Context(), journal.Options{Dir: w.dir})
		if err != nil {
			t.Errorf("%s%s: %v", point, hit, err)
			return
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if r, ok := verify(t, w.dir); !ok || len(r.Notes) > 0 {
			t.Errorf("%s%s: after the next start: %v %v", point, hit, r.Problems, r.Notes)
		}
	}
	w.check(t, point+hit)
}

// check compares the log with what was acknowledged, and finds each call and session ended exactly once.
func (w world) check(t *testing.T, at string) {
	seen := make(map[string]int)
	for _, e := range read(t, w.dir, journal.Filter{}) {
		var d struct {
			ToolCallID string `json:"toolCallId"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Error(err)
		}
		seen[e.Session+" "+e.Type+" "+d.ToolCallID]++
	}
	acks, err := os.ReadFile(w.acks)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for ack := range strings.Lines(string(acks)) {
		if ack = strings.TrimSpace(ack); seen[ack] != 1 {
			t.Errorf("%s: acknowledged, but %d times in the log: %s", at, seen[ack], ack)
		}
	}
	for what, n := range seen {
		f := strings.SplitN(what, " ", 3)
		switch f[1] {
		case "model.tool_call_requested":
			if ends := seen[f[0]+" tool.completed "+f[2]] + seen[f[0]+" tool.failed "+f[2]]; ends != n {
				t.Errorf("%s: call %s %s has %d ends", at, f[0], f[2], ends)
			}
		case "mcp.call.started":
			if ends := seen[f[0]+" mcp.call.completed "+f[2]] + seen[f[0]+" mcp.call.failed "+f[2]]; ends != n {
				t.Errorf("%s: call %s %s has %d ends at the transport", at, f[0], f[2], ends)
			}
		case "session.started":
			if seen[f[0]+" session.ended "] != 1 {
				t.Errorf("%s: session %s has %d ends", at, f[0], seen[f[0]+" session.ended "])
			}
		}
	}
}

// A recovery that is killed again and again, each time a little later, still ends with one right log.
func TestRecoveryKilledRepeatedly(t *testing.T) {
	bin := build(t)
	w := newWorld(t, bin, journal.DurabilityProcess)
	w.run(t, "USHER_KILL_AT=journal.write.half:27")
	w.run(t, "USHER_KILL_AT=journal.write.half:33")
	for _, at := range []string{"recover.scanned", "recover.call", "recover.tool", "recover.half", "recover.replayed", "recover.session",
		"write.half:1", "recover.half", "recover.checkpoint.before", "write.half:2", "recover.checkpoint.after", "recover.sealed",
		"recover.sealed:2", "open.started"} {
		if !w.run(t, "USHER_KILL_AT=journal."+at) {
			t.Errorf("%s: not passed", at)
		}
		if r, ok := verify(t, w.dir); !ok {
			t.Errorf("%s: %v", at, r.Problems)
		}
	}
	closed(t, open(t, journal.Options{Dir: w.dir}))
	verified(t, w.dir)
	w.check(t, "at last")
}

// Two processes that start at once don't both recover.
func TestOneRecovers(t *testing.T) {
	bin := build(t)
	w := newWorld(t, bin, journal.DurabilityProcess)
	w.run(t, "USHER_KILL_AT=journal.write.half:27")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() { w.run(t) })
	}
	group.Wait()
	closed(t, open(t, journal.Options{Dir: w.dir}))
	verified(t, w.dir)
	w.check(t, "at last")
	torn := 0
	for _, e := range read(t, w.dir, journal.Filter{Session: "host", Type: "log.check*"}) {
		d, err := event.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.(event.Checkpoint).Files {
			torn += min(f.Torn, 1)
		}
	}
	if torn != 1 {
		t.Errorf("the torn file was taken over %d times", torn)
	}
}
