package index_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("USHER_TEST_FILL"); dir != "" { // a process that is killed while it fills the index
		l, err := index.Open(context.Background(), dir, func(done, total int64) {
			fmt.Println(done, total)
			_, _ = os.Stdin.Read(make([]byte, 1))
		})
		if err == nil {
			err = l.Direct()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, dir string) *index.Log {
	t.Helper()
	l, err := index.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// indexed is open where an index must be kept.
func indexed(t testing.TB, dir string) *index.Log {
	t.Helper()
	l := open(t, dir)
	if err := l.Direct(); err != nil {
		t.Fatalf("no index: %v", err)
	}
	return l
}

func find(t testing.TB, l *index.Log, q index.Query) (lines []string, bad int) {
	t.Helper()
	sum, err := l.Find(t.Context(), q, func(f index.Found) error {
		if f.Err != nil {
			bad++
			return nil
		}
		lines = append(lines, string(f.Line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Found != len(lines) {
		t.Errorf("%+v: found %d, says %d", q, len(lines), sum.Found)
	}
	return lines, bad
}

// stored is an event as it lies in the log.
func stored(e event.Event) string {
	b, _ := event.AppendLine(nil, e.Seq, e.Session, e.Time.AppendFormat(nil, event.TimeFormat), e.Type, e.Data, []byte(e.Prev))
	line := strings.TrimSuffix(string(b), "\n")
	if h, err := hex.DecodeString(e.Hash); err != nil || 2*len(h) != event.HashLen {
		panic("a hash that is none")
	}
	return line[:len(line)-len(`"}`)-event.HashLen] + e.Hash + `"}`
}

func timeline(t testing.TB, dir string) (all []event.Event) {
	t.Helper()
	for e, err := range journal.Timeline(dir, journal.Filter{}) {
		if err == nil {
			all = append(all, e)
		}
	}
	return all
}

func all(t testing.TB, dir string) (lines []string) {
	for _, e := range timeline(t, dir) {
		lines = append(lines, stored(e))
	}
	return lines
}

func same(t testing.TB, got, want []string, what ...any) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			g, w := "-", "-"
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			t.Fatalf("%v: %d lines, want %d; the first that differs is %d:\n got %s\nwant %s", what, len(got), len(want), i, g, w)
		}
	}
}

func start(t testing.TB, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func add(t testing.TB, j *journal.Journal, session string, data ...event.Data) {
	t.Helper()
	if _, err := j.Append(t.Context(), session, data...); err != nil {
		t.Fatal(err)
	}
}

func flush(t testing.TB, j *journal.Journal) {
	t.Helper()
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
}

// snapshot is what a machine would find whose processes were all killed now.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f, ".jsonl") && !strings.HasSuffix(f, ".spool") {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), bytes.Clone(b), info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// readOnly mounts dir over itself, so that nobody can write in it, root included.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("this test needs the right to mount; run it as root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
