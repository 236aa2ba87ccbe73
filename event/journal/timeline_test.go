package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

// H3: processes that ran at the same time are read as it happened, and each session in its own order.
func TestTimeline(t *testing.T) {
	dir := t.TempDir()
	var seconds atomic.Int64
	tick := func() time.Time { return time.Date(2026, 7, 28, 12, 0, int(seconds.Add(1)), 0, time.UTC) }
	options := func(name string) journal.Options {
		o := fixed(dir)
		o.Clock, o.RotateBytes = tick, 2000
		o.NewID = func(prefix string) string { return prefix + name }
		return o
	}
	long := open(t, options("long"))
	add(t, long, "s_a", event.SessionStarted{Kind: "agent"})
	for i := range 40 {
		add(t, long, "s_a", event.ToolStarted{Tool: fmt.Sprint("a", i)})
		short := open(t, options(fmt.Sprint("short", i)))
		add(t, short, "s_b", event.SessionStarted{Kind: "agent"}, event.ToolStarted{Tool: fmt.Sprint("b", i)})
		add(t, long, "s_a", event.ToolStarted{Tool: fmt.Sprint("c", i)})
		closed(t, short)
	}
	closed(t, long)

	all := read(t, dir, journal.Filter{})
	if slices.IsSortedFunc(all, byTime) {
		t.Fatal("the files alone are in order, so this test shows nothing")
	}
	var got []event.Event
	for e, err := range journal.Timeline(dir, journal.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != len(all) {
		t.Errorf("%d of %d events", len(got), len(all))
	}
	// A checkpoint stands at the beginning of its file, before events that came earlier and weren't written yet.
	got = slices.DeleteFunc(got, func(e event.Event) bool { return e.Type == "log.checkpoint" })
	for i := 1; i < len(got); i++ {
		if got[i].Time.Before(got[i-1].Time) {
			t.Fatalf("%s %s of %v comes after %v", got[i].Session, got[i].Type, got[i].Time, got[i-1].Time)
		}
	}
	for range journal.Timeline(dir, journal.Filter{Type: "tool.*"}) {
		break // leaves no file open: see goleak, and the next lines
	}
	if open := openIn(t, dir); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
	most := 0
	for e := range journal.Timeline(dir, journal.Filter{Session: "s_b"}) {
		if e.Session != "s_b" {
			t.Errorf("%s", e.Session)
		}
		most = max(most, len(openIn(t, dir)))
	}
	if most > 3 {
		t.Errorf("%d files were open at once", most)
	}
}

// Events of one time stay as they are in the files, and a clock that was set back changes no session's order.
func TestTimelineIsStable(t *testing.T) {
	dir := t.TempDir()
	var back atomic.Int64
	o := fixed(dir)
	o.Clock = func() time.Time { return time.Date(2026, 7, 28, 12, 0, -int(back.Load()), 0, time.UTC) }
	j := open(t, o)
	add(t, j, "s_a", event.SessionStarted{Kind: "agent"})
	for i := range 20 {
		if i == 10 {
			back.Store(3600)
		}
		add(t, j, "s_a", event.ToolStarted{Tool: fmt.Sprint(i)})
	}
	closed(t, j)
	var want, got []string
	for _, e := range read(t, dir, journal.Filter{}) {
		want = append(want, e.Hash)
	}
	for e, err := range journal.Timeline(dir, journal.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Hash)
	}
	if !slices.Equal(got, want) {
		t.Error("the order changed")
	}
}

func byTime(a, b event.Event) int { return a.Time.Compare(b.Time) }

// openIn names the files of dir that this process has open.
func openIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(to, dir) {
			names = append(names, to)
		}
	}
	return names
}
