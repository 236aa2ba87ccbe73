package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/usher-mcp/usher/internal/store/sqlite"
)

// disk mounts a real, small file system.
func disk(t *testing.T, options string) string {
	t.Helper()
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

// fill takes all space that is left, and returns what gives it back.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
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

// A full disk refuses writes, loses nothing that was there, and with space it goes on.
func TestFullDisk(t *testing.T) {
	dir := disk(t, "size=1m")
	path := filepath.Join(dir, "catalog.db")
	d, said := open(t, path)
	save(t, d, record("before", 5000))
	free := fill(t, dir)
	err := d.Catalog().Save(t.Context(), record("during", 200_000))
	if err == nil {
		t.Fatal("a write to a full disk succeeded")
	}
	contains(t, err.Error(), path, "Free space on the disk")
	if got := load(t, d, "before", "during"); len(got) != 1 || len(got["before"].Data) != 5000 {
		t.Errorf("%d records", len(got))
	}
	free()
	holds(t, d, "after")
	closed(t, d)
	d, _ = open(t, path)
	if got := load(t, d, "before", "after"); len(got) != 2 || len(said.all) > 0 {
		t.Errorf("%d records, %q", len(got), said.all)
	}
}

// A disk that is full at the start fails the opening with a reason, and is no damage.
func TestFullDiskAtOpen(t *testing.T) {
	dir := disk(t, "size=1m")
	free := fill(t, dir)
	path := filepath.Join(dir, "catalog.db")
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{Notice: func(text string) { t.Error(text) }})
	if err == nil {
		t.Fatal("it was opened")
	}
	contains(t, err.Error(), path, "Free space on the disk")
	free()
	d, _ := open(t, path)
	holds(t, d, "k")
}

// A folder that can't be written fails the opening with a reason; the file stays as it is.
func TestReadOnlyFolder(t *testing.T) {
	dir := disk(t, "size=1m")
	path := filepath.Join(dir, "catalog.db")
	d, _ := open(t, path)
	holds(t, d, "k")
	closed(t, d)
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("usher-test", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	for _, name := range []string{path, filepath.Join(dir, "other.db"), filepath.Join(dir, "new", "other.db")} {
		_, err := sqlite.Open(t.Context(), name, sqlite.Options{Notice: func(text string) { t.Error(text) }})
		if !errors.Is(err, syscall.EROFS) {
			t.Fatalf("%s: %v", name, err)
		}
		contains(t, err.Error(), name, "read-only file system", "Make it and its folder writable")
	}
	remount(0)
	d, _ = open(t, path)
	if len(load(t, d, "k")) != 1 {
		t.Error("lost")
	}
}
