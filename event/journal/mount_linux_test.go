package journal_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
)

// disk mounts a real, small file system.
func disk(t *testing.T, options string) string {
	dir := t.TempDir()
	if err := syscall.Mount("usher-test", dir, "tmpfs", 0, options); err != nil {
		t.Fatalf("this test needs the right to mount a tmpfs; run it as root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func remount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("usher-test", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// H5: a full disk refuses, loses nothing and leaves no gap; with space it goes on.
func TestFullDisk(t *testing.T) {
	for _, durability := range []string{journal.DurabilityProcess, journal.DurabilityFull} {
		t.Run(durability, func(t *testing.T) {
			dir := disk(t, "size=64k")
			j := open(t, journal.Options{Dir: dir, Durability: durability, MaxPending: 40_000, RotateBytes: 30_000})
			add(t, j, "s_1", event.SessionStarted{Kind: "agent"})
			taken, durable, last, err := fill(t, j)
			wantRefused(t, dir, err)
			if n := len(read(t, dir, journal.Filter{Session: "s_1"})); n < durable {
				t.Fatalf("%d events on the disk, %d were acknowledged", n, durable)
			}
			verified(t, dir)
			wantRefused(t, dir, j.Wait(t.Context(), last))

			remount(t, dir, "size=4m", 0)
			wait(t, j, last)
			wait(t, j, add(t, j, "s_1", event.SessionEnded{Reason: "done"}))
			closed(t, j)
			report := verified(t, dir)
			if n := len(read(t, dir, journal.Filter{Session: "s_1"})); n != taken+2 {
				t.Errorf("%d events, want %d", n, taken+2)
			}
			if len(report.Notes) > 0 {
				t.Error(report.Notes)
			}
		})
	}
}

// fill appends until Append fails. It returns how many calls' events it took, how many were acknowledged before the
// disk was full, and the last mark.
func fill(t *testing.T, j *journal.Journal) (taken, durable int, last event.Mark, err error) {
	for range 1000 {
		var m event.Mark
		if m, err = j.Append(t.Context(), "s_1", call("c")...); err != nil {
			return taken, durable, last, err
		}
		last = m
		taken += 7
		if j.Wait(t.Context(), m) == nil {
			durable = taken
		}
	}
	t.Fatal("the disk doesn't get full")
	return
}

func wantRefused(t *testing.T, dir string, err error) {
	t.Helper()
	if fault.KindOf(err) != fault.LogUnavailable || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error %v, want that the disk is full", err)
	}
	for _, part := range []string{dir, "no space left on device", "Free space"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestFullDiskAtOpen(t *testing.T) {
	dir := disk(t, "size=4k,nr_inodes=2")
	_, err := journal.Open(t.Context(), journal.Options{Dir: dir})
	wantRefused(t, dir, err)
}

func TestReadOnlyFolder(t *testing.T) {
	dir := disk(t, "size=64k")
	closed(t, open(t, journal.Options{Dir: dir}))
	remount(t, dir, "", syscall.MS_RDONLY)
	_, err := journal.Open(t.Context(), journal.Options{Dir: dir})
	if fault.KindOf(err) != fault.LogUnavailable || !errors.Is(err, syscall.EROFS) {
		t.Fatal(err)
	}
	for _, part := range []string{dir, "read-only file system", "set log.dir in the config or USHER_DATA"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	verified(t, dir) // reading needs no right to write
	if types := read(t, dir, journal.Filter{Type: "session.*"}); !slices.ContainsFunc(types, func(e event.Event) bool { return e.Type == "session.ended" }) {
		t.Error("can't be read")
	}
}
