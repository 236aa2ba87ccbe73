package journal_test

import (
	"os"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
)

// H5: a disk that gets full while there is a spool refuses from then on. What was acknowledged survives a kill at that
// moment, and nothing is missing once there is space again.
func TestFullDiskWithSpool(t *testing.T) {
	dir := disk(t, "size=2300k")
	j := open(t, journal.Options{Dir: dir, MaxPending: 3 << 20, RotateBytes: 30_000})
	add(t, j, "s_1", event.SessionStarted{Kind: "agent"})
	var last event.Mark
	var err error
	taken, promised, refused := 0, 0, 0
	for err == nil {
		if taken > 1<<20 {
			t.Fatal("the disk doesn't get full")
		}
		var m event.Mark
		if m, err = j.Append(t.Context(), "s_1", call("c")...); err != nil {
			break
		}
		taken, last = taken+7, m
		if failed := j.Wait(t.Context(), m); failed == nil {
			promised = taken
		} else {
			refused++
			wantRefused(t, dir, failed)
		}
	}
	wantRefused(t, dir, err)
	if promised == 0 || refused == 0 {
		t.Fatalf("%d events acknowledged, %d calls refused", promised, refused)
	}

	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	closed(t, open(t, journal.Options{Dir: left}))
	verified(t, left)
	if n := len(read(t, left, journal.Filter{Session: "s_1"})); n < promised {
		t.Errorf("after a kill: %d events, %d were acknowledged", n, promised)
	}

	remount(t, dir, "size=16m", 0)
	wait(t, j, last)
	wait(t, j, add(t, j, "s_1", event.SessionEnded{Reason: "done"}))
	closed(t, j)
	if n := len(read(t, dir, journal.Filter{Session: "s_1"})); n != taken+2 {
		t.Errorf("%d events, want %d", n, taken+2)
	}
	if report := verified(t, dir); len(report.Notes) > 0 {
		t.Error(report.Notes)
	}
}
