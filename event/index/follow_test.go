package index_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/event/journal"
)

// following starts Follow and returns what it brings.
func following(t *testing.T, l *index.Log, q index.Query) (<-chan string, func()) {
	lines, done := make(chan string, 100_000), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- l.Follow(ctx, q, func(f index.Found) error {
			if f.Err != nil {
				return f.Err
			}
			lines <- string(f.Line)
			return nil
		})
	}()
	return lines, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		close(lines)
	}
}

func receive(t *testing.T, lines <-chan string, n int) (got []string) {
	t.Helper()
	for range n {
		select {
		case l := <-lines:
			got = append(got, l)
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d lines came", len(got), n)
		}
	}
	return got
}

// What Find and then Follow bring is the log, without a gap and nothing twice, through rotation, new processes, a
// recovery, and with a filter that needs to know what was before.
func TestFollow(t *testing.T) {
	for _, direct := range []bool{false, true} {
		queries := []index.Query{{Server: "fs"}, {Tool: "mcp__fs__read", Type: "mcp.*"}, {Session: "host"}, {Text: "文件"}}
		if direct && *seeds == 1 {
			queries = queries[:2]
		}
		for _, q := range queries {
			t.Run(fmt.Sprint(direct, q), func(t *testing.T) {
				t.Parallel() // it waits for what comes
				w := newWorld(t, 9)
				w.safe = true
				for range 60 {
					w.step()
				}
				w.flush()
				l := index.OpenDirect(w.dir)
				if !direct {
					l = indexed(t, w.dir)
				}
				got, _ := find(t, l, q)
				lines, stop := following(t, l, q)
				for i := range 90 {
					if w.step(); i%20 == 0 {
						w.flush()
					}
				}
				for _, r := range w.runs {
					r.Close()
				}
				want := choose(see(t, timeline(t, w.dir)), q)
				got = append(got, receive(t, lines, len(want)-len(got))...)
				stop()
				for more := range lines {
					t.Errorf("one too many: %s", more)
				}
				inOrder(t, got)
				slices.Sort(got)
				slices.Sort(want)
				same(t, got, want)
			})
		}
	}
}

// inOrder wants each session in its own order.
func inOrder(t *testing.T, lines []string) {
	t.Helper()
	last := map[string]int64{}
	for _, l := range lines {
		e, err := event.ParseLine([]byte(l))
		if err != nil || e.Seq <= last[e.Session] {
			t.Errorf("%d after %d: %v %s", e.Seq, last[e.Session], err, l)
		}
		last[e.Session] = e.Seq
	}
}

// A folder that isn't there yet may come.
func TestFollowNothingYet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	l := index.OpenDirect(dir)
	lines, stop := following(t, l, index.Query{Type: "tool.*"})
	j := start(t, journal.Options{Dir: dir})
	add(t, j, "s_1", event.SessionStarted{Kind: "agent"}, event.ToolStarted{Tool: "mcp.fs.read", ToolCallID: "c_1"})
	begun := time.Now()
	receive(t, lines, 1)
	t.Logf("after %v", time.Since(begun))
	stop()
}

// What was before is known where the index is lost between Find and Follow, too: it is read from the log.
func TestFollowWithoutWhatItFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, journal.Options{Dir: dir})
	add(t, j, "s_1", event.SessionStarted{Kind: "agent"}, event.ToolCallRequested{ToolCallID: "c_1", Tool: "mcp.fs.read"})
	flush(t, j)
	l := indexed(t, dir)
	q := index.Query{Tool: "mcp.fs.read"}
	find(t, l, q)
	db, err := sql.Open("sqlite", indexFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("DROP TABLE word")
	if err2 := db.Close(); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	lines, stop := following(t, l, q)
	add(t, j, "s_1", event.CallStarted{Server: "fs", ToolCallID: "c_1", Method: "tools/call"}, event.CallStarted{Server: "fs", ToolCallID: "c_2", Method: "tools/call"})
	receive(t, lines, 1)
	flush(t, j)
	stop()
	for more := range lines {
		t.Errorf("one too many: %s", more)
	}
}
