// Package chain_test holds the chain of one call, from a real server's process to the bytes in the journal, against a
// file that was written by hand.
package chain_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
	"github.com/usher-mcp/usher/transport/stdio"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(standard.Watchdog())
	}
	m.Run()
}

// H2, "tools/call": types, fields, values and order are the handbook's, and every byte is the same from run to run.
func TestHandbookChain(t *testing.T) {
	server := filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-o", server, "../server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	first, second := run(t, server), run(t, server)
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	want, err := os.ReadFile("testdata/handbook6.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	// Nobody writes hashes by hand; the verifiers check them.
	got := regexp.MustCompile(`(?m)(,"prev":"[0-9a-f]{64}")?,"hash":"[0-9a-f]{64}"}$`).ReplaceAll(first, []byte("}"))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// run makes the handbook's call and returns the session's lines as they lie in the journal.
func run(t *testing.T, server string) []byte {
	t.Helper()
	dir := t.TempDir()
	begun := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	j, err := journal.Open(t.Context(), journal.Options{Dir: dir, Clock: func() time.Time { return begun }})
	if err != nil {
		t.Fatal(err)
	}
	var ticks atomic.Int64 // the host looks at its clock when a call leaves and when its answer is there
	host, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{{Name: "jira", Kind: "stdio", Transport: stdio.New(stdio.Options{
			Command: server, Launcher: sandbox.Launcher{Watchdog: []string{os.Args[0], "__watchdog"}},
		})}},
		Log: j, HostSession: j.Host(),
		Clock: func() time.Time { return begun.Add(time.Duration(ticks.Add(1)) * 420 * time.Millisecond) },
		NewID: func(prefix string) string { return prefix + map[string]string{"s_": "handbook", "tc_": "xyz"}[prefix] },
		Asker: permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
			return permission.Answer{Allow: true, Scope: permission.Session, Via: "terminal"}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := host.Session(usher.SessionOptions{Kind: "agent", Client: "handbook"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.Call(t.Context(), "mcp.jira.get_issue", []byte(`{"key":"PROJ-123"}`))
	if err != nil || result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	session.Close("done")
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return sessionLines(t, dir, "s_handbook")
}

func sessionLines(t *testing.T, dir, session string) (lines []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(whole) {
		if bytes.Contains(line, []byte(`"session":"`+session+`"`)) {
			lines = append(lines, line...)
		}
	}
	return lines
}
