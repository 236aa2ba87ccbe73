package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed are options under which a journal is the same from run to run.
func fixed(dir string) journal.Options {
	var n atomic.Int64
	return journal.Options{
		Dir:   dir,
		Clock: func() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) },
		NewID: func(prefix string) string { return fmt.Sprintf("%s%d", prefix, n.Add(1)) },
	}
}

func open(t testing.TB, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, j) })
	return j
}

func closed(t testing.TB, j *journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func add(t testing.TB, j *journal.Journal, session string, data ...event.Data) event.Mark {
	t.Helper()
	m, err := j.Append(t.Context(), session, data...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wait brings everything up to m into the files.
func wait(t testing.TB, j *journal.Journal, m event.Mark) {
	t.Helper()
	if err := j.Wait(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
}

// call is the chain of one call to a server.
func call(id string) []event.Data {
	const tool = "mcp.fs.write_file"
	return []event.Data{
		event.ToolCallRequested{ToolCallID: id, Tool: tool, Args: json.RawMessage("{\"path\": \"a<b>\",\n \"n\":1.0}")},
		event.PermissionRequested{ToolCallID: id, Tool: tool, RiskAtDecision: "write", SourcedFrom: "default"},
		event.PermissionResolved{ToolCallID: id, Decision: "allow", Actor: "rule", SourcedFrom: "rule:user"},
		event.CallStarted{Server: "fs", ToolCallID: id, Method: "tools/call"},
		event.ToolStarted{Tool: tool, ToolCallID: id},
		event.CallCompleted{Server: "fs", ToolCallID: id, DurationMs: 12},
		event.ToolCompleted{Tool: tool, ToolCallID: id, ResultPreview: "wrote 3 bytes \xff", ResultSize: 3},
	}
}

// verify holds both verifiers against dir and fails if they disagree.
func verify(t testing.TB, dir string) (journal.Report, bool) {
	t.Helper()
	report, err := journal.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(context.Background(), "python3", "../../test/verify/verify.py", dir).CombinedOutput()
	code := 0
	if err != nil {
		code = -1
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		}
	}
	if good := len(report.Problems) == 0; code > 1 || code < 0 || good != (code == 0) {
		t.Fatalf("the verifiers disagree about %s\nfirst:  %v\nsecond: exit %d\n%s", dir, report.Problems, code, out)
	}
	return report, code == 0
}

func verified(t testing.TB, dir string) journal.Report {
	t.Helper()
	report, ok := verify(t, dir)
	if !ok {
		t.Fatalf("not as it was written: %v", report.Problems)
	}
	return report
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t testing.TB, dir string, f journal.Filter) []event.Event {
	t.Helper()
	var out []event.Event
	for e, err := range journal.Read(dir, f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func mode(t testing.TB, name string) os.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
