package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
)

// H2, H6: the golden files were made by testdata/golden.py, which shares no code with this package.
func TestGolden(t *testing.T) {
	for range 2 {
		dir := t.TempDir()
		o := fixed(dir)
		for _, session := range []string{"s_a", "s_b"} {
			j := open(t, o)
			add(t, j, session, event.SessionStarted{Kind: "agent"})
			add(t, j, session, call("c1")...)
			if session == "s_b" {
				wait(t, j, add(t, j, session, event.SessionEnded{Reason: "done"}))
			}
			closed(t, j)
		}
		verified(t, dir)
		got, want := contents(t, dir), contents(t, "testdata/golden")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("not the golden files (-want +got):\n%s", diff)
		}
	}
}

func contents(t *testing.T, dir string) map[string][]string {
	out := make(map[string][]string)
	for _, name := range files(t, dir) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = strings.Split(string(b), "\n")
	}
	return out
}

// H1, H6: no gap and no lost event when many append at once, over many rotations and beside another process.
func TestConcurrentAppends(t *testing.T) {
	const writers, sessions, rounds = 8, 3, 40
	dir := t.TempDir()
	j := open(t, journal.Options{Dir: dir, RotateBytes: 20_000, MaxPending: 64 << 10})
	other := open(t, journal.Options{Dir: dir, RotateBytes: 20_000})
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for s := range sessions {
				log := j
				if w == 0 {
					log = other
				}
				id := fmt.Sprintf("s_%d_%d", w, s)
				add(t, log, id, event.SessionStarted{Kind: "gateway"})
				for r := range rounds {
					m := add(t, log, id, call(fmt.Sprint(r))...)
					if r%3 == 0 {
						wait(t, log, m)
					}
				}
			}
		})
	}
	for range 3 {
		if r, err := journal.Verify(dir); err != nil || len(r.Problems) > 0 { // while they write
			t.Errorf("verify: %v %v", err, r.Problems)
		}
	}
	group.Wait()
	closed(t, j)
	closed(t, other)
	report := verified(t, dir)
	for w := range writers {
		for s := range sessions {
			got := read(t, dir, journal.Filter{Session: fmt.Sprintf("s_%d_%d", w, s)})
			if want := 1 + 7*rounds; len(got) != want || got[want-1].Seq != int64(want) {
				t.Errorf("session %d %d has %d events, want %d", w, s, len(got), want)
			}
		}
	}
	if report.Files < 20 {
		t.Errorf("%d files: it did not rotate", report.Files)
	}
}

func TestFilesAndModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	j := open(t, journal.Options{Dir: dir, RotateBytes: 4000})
	for i := range 5 {
		id := fmt.Sprint("s_", i)
		add(t, j, id, event.SessionStarted{Kind: "agent"})
		wait(t, j, add(t, j, id, call("c")...))
		wait(t, j, add(t, j, id, event.SessionEnded{Reason: "done"}))
	}
	if m := mode(t, dir); m != 0o700 {
		t.Errorf("folder has mode %o", m)
	}
	names := files(t, dir)
	for i, name := range names {
		want := os.FileMode(0o400)
		if i == len(names)-1 {
			want = 0o600
		}
		if m := mode(t, name); m != want {
			t.Errorf("%s has mode %o, want %o", name, m, want)
		}
	}
	closed(t, j)
	closed(t, open(t, journal.Options{Dir: dir}))
	if last := names[len(names)-1]; mode(t, last) != 0o400 {
		t.Errorf("%s was not sealed by the next start", last)
	}
	verified(t, dir)
}

func TestRules(t *testing.T) {
	j := open(t, journal.Options{Dir: t.TempDir()})
	started, ended := event.SessionStarted{Kind: "agent"}, event.SessionEnded{Reason: "done"}
	refused := func(want error, session string, data ...event.Data) {
		t.Helper()
		if m, err := j.Append(t.Context(), session, data...); !errors.Is(err, want) || m != 0 {
			t.Errorf("append to %q: mark %d, error %v, want %v", session, m, err, want)
		}
	}
	refused(journal.ErrUnknown, "s_1", event.ToolStarted{})
	refused(journal.ErrUnknown, `s"1`, started)
	refused(journal.ErrEnded, "s_1", started, ended, started)
	add(t, j, "s_1", &started, ended) // a pointer is as good as a value
	refused(journal.ErrEnded, "s_1", event.ToolStarted{})
	if _, err := j.Append(t.Context(), "s_2", started, event.CallProgress{Progress: []byte("{")}); err == nil {
		t.Error("took a raw part that is no JSON")
	}
	if _, err := j.Append(t.Context(), "s_2", (*event.SessionStarted)(nil)); err == nil {
		t.Error("took a nil pointer")
	}
	refused(journal.ErrUnknown, "s_2", event.ToolStarted{}) // nothing was taken
	if err := j.Wait(t.Context(), 1000); err == nil {
		t.Error("a mark from nowhere is durable")
	}
	if err := j.Wait(t.Context(), 0); err != nil {
		t.Error("the zero mark is durable:", err)
	}
	closed(t, j)
	refused(journal.ErrClosed, "s_3", started)
	if err := j.Close(); err != nil {
		t.Error("a second Close:", err)
	}
}

// K2: redacted once, in Append; the hash is over what was redacted.
func TestRedact(t *testing.T) {
	dir := t.TempDir()
	calls := 0
	j := open(t, journal.Options{Dir: dir, Redact: func(b []byte) []byte {
		calls++
		if bytes.Contains(b, []byte("break")) {
			return b[:len(b)-1]
		}
		return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[secret 1]"))
	}})
	calls = 0
	add(t, j, "s_1", event.SessionStarted{Kind: "agent", Client: "hunter2"}, event.ServerStray{Sample: "a hunter2 b"})
	if calls != 2 {
		t.Errorf("redacted %d times", calls)
	}
	if _, err := j.Append(t.Context(), "s_1", event.SessionEnded{Reason: "break"}); err == nil {
		t.Error("took what redaction broke")
	}
	closed(t, j)
	verified(t, dir)
	for _, name := range files(t, dir) {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte("hunter2")) || bytes.Count(b, []byte("[secret 1]")) != 2 {
			t.Errorf("not redacted: %s", b)
		}
	}
}

// What nobody waits for is written within 20 ms.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j, err := journal.Open(context.Background(), journal.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		add(t, j, "s_1", event.SessionStarted{Kind: "agent"})
		time.Sleep(19 * time.Millisecond)
		synctest.Wait()
		if got := read(t, dir, journal.Filter{Session: "s_1"}); len(got) != 0 {
			t.Error("written although nobody waited")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := read(t, dir, journal.Filter{Session: "s_1"}); len(got) != 1 {
			t.Error("not written after 20 ms")
		}
		closed(t, j)
	})
}

func TestOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]journal.Options{
		"no folder":          {},
		"unknown durability": {Dir: t.TempDir(), Durability: "some"},
		"a file":             {Dir: file},
		"below a file":       {Dir: filepath.Join(file, "sub")},
	} {
		_, err := journal.Open(t.Context(), o)
		if fault.KindOf(err) != fault.LogUnavailable || !strings.Contains(err.Error(), "log.d") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
