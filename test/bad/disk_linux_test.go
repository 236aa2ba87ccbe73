package bad_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// allowed keeps no cache beside the log.
const allowed = `{"profile": "professional", "mcpServers": {GOOD}, "permissions": {"allow": ["mcp.good.write"]}, "log": {"durability": %q}}`

// mountData puts a small disk of its own under the data folder.
func (w *world) mountData(t *testing.T) {
	t.Helper()
	w.mount(t, w.data)
}

func (w *world) mount(t *testing.T, folder string) {
	t.Helper()
	w.disk = folder
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("usher-test", folder, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("this test needs the right to mount a tmpfs; run it as root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all space that is left, and returns what gives it back.
func (w *world) fill(t *testing.T) (free func()) {
	t.Helper()
	name := filepath.Join(w.disk, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// H5: while the disk under the log is full, what does more than read is refused and reaches no server; reads go on.
// With space again the next call works, and the log has every call.
func TestFullDisk(t *testing.T) {
	for _, front := range fronts {
		for _, durability := range []string{"process", "full"} {
			t.Run(front.name+"/"+durability, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mountData(t)
				w.configure(t, fmt.Sprintf(allowed, durability))
				f := front.open(w, t)
				f.works(t, "mcp__good__write", "before")

				free := w.fill(t)
				f.writeUntilFull(t)
				const refused = 5
				for range refused {
					before := w.calls(t)
					a := f.call(t, "mcp__good__write", `{"text":"x","id":"bad"}`)
					f.failed(t, a, []int{toolFailed}, []string{"mcp.good.write was not run: the event log can't be written", w.data, "no space left on device", "Free space on the disk"})
					if got := w.calls(t); got != before+1 {
						t.Errorf("%d calls reached the server, want only the read", got-before)
					}
				}

				free()
				f.works(t, "mcp__good__write", "after")
				f.orderly(t)
				w.refusalsLogged(t, refused)
			})
		}
	}
}

// writeUntilFull uses up what is left of the log's last page: a call that fits there is a good call.
func (f *front) writeUntilFull(t *testing.T) {
	t.Helper()
	for range 20 {
		before := f.w.calls(t)
		a := f.call(t, "mcp__good__write", `{"text":"fits","id":"fits"}`)
		ran := f.w.calls(t) - before
		if a.good("fits") && ran == 1 {
			continue
		}
		if ran != 0 {
			t.Errorf("a refused call ran: %q", a.text())
		}
		contains(t, a.text(), "the event log can't be written")
		return
	}
	t.Fatal("the disk doesn't get full")
}

func (w *world) refusalsLogged(t *testing.T, least int) {
	t.Helper()
	n := 0
	for _, e := range w.events(t) {
		if e.Type == "tool.failed" && e.Data.Reason == "log_unavailable" && strings.Contains(e.Data.Message, "no space left") {
			n++
		}
	}
	if n < least {
		t.Errorf("%d refused calls are in the log, want %d", n, least)
	}
}

// H5: usher that starts, or ends, on a full disk says so. The disk has the log alone: what lies beside it would free space
// for the log's last lines when it is closed.
func TestFullDiskAtTheEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mount(t, filepath.Join(w.data, "journal"))
	w.configure(t, fmt.Sprintf(allowed, "process"))
	f := w.serve(t)
	f.works(t, "mcp__good__write", "before")
	free := w.fill(t)
	f.writeUntilFull(t)
	want := []string{"the event log can't be written", w.data, "no space left on device", "Free space on the disk"}
	before := w.calls(t)
	w.fails(t, 7, want, "call", "mcp.good.write", "id=bad")
	if w.calls(t) != before {
		t.Error("a call ran without a log")
	}
	code, stderr := f.end(t)
	if code != 7 {
		t.Errorf("usher serve ended with exit code %d", code)
	}
	contains(t, stderr, want...)
	w.noProcess(t)

	free()
	w.goodWorks(t)
	w.check(t)
}

// H5: a data folder that can't be written: nothing starts, and what is there can be read.
func TestReadOnlyData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mountData(t)
	w.configure(t, fmt.Sprintf(allowed, "process"))
	w.goodWorks(t)
	if err := syscall.Mount("usher-test", w.data, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	want := []string{"the event log can't be written", w.data, "read-only file system", "USHER_DATA"}
	for _, args := range [][]string{{"call", "mcp.good.echo", "id=bad"}, {"call", "mcp.good.write", "id=bad"}, {"tools"}, {"serve", "--listen", "127.0.0.1:0", "--json"}, {"stdio"}} {
		w.fails(t, 7, want, args...)
	}
	if n := w.calls(t); n != 1 {
		t.Errorf("%d calls reached the server, want the one before", n)
	}
	w.check(t)
	if r := w.run(t, "doctor"); r.code != 7 {
		t.Errorf("usher doctor: exit code %d: %s", r.code, r.out)
	} else {
		contains(t, r.out, "✗ log", "read-only file system")
	}

	if err := syscall.Mount("usher-test", w.data, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	w.goodWorks(t)
	w.check(t)
}
