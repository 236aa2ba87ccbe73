package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// SocketError says why the socket can't be used, and what a person can do about it.
type SocketError struct{ Text, Hint string }

func (e *SocketError) Error() string { return e.Text }

const anotherFolder = "Name a data folder of your own with --data"

// SocketPath is where the API is for a data folder. The path may be longer than other programs can connect to.
func SocketPath(dataDir string) string {
	if abs, err := filepath.Abs(dataDir); err == nil {
		dataDir = abs
	}
	return filepath.Join(dataDir, "run", "admin.sock")
}

// makeFolder makes the folder of a socket, and the data folder, where they aren't there yet.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &SocketError{"can't make the folder " + dir + ": " + reasonOf(err), anotherFolder}
	}
	return checkFolder(dir)
}

// checkFolder refuses a folder in which others could put a socket in place of ours. It returns fs.ErrNotExist where there
// is none.
func checkFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return &SocketError{"can't look at " + dir + ": " + reasonOf(err), anotherFolder}
	case !info.IsDir():
		return &SocketError{dir + " is no folder", "Remove it; usher makes it anew"}
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != os.Geteuid() {
		return &SocketError{fmt.Sprintf("the folder %s belongs to another user (uid %d)", dir, owner), "Run it as that user. Or name a data folder of your own with --data"}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &SocketError{fmt.Sprintf("others can get into %s (its mode is %04o)", dir, info.Mode().Perm()), "Keep them out: chmod 700 " + dir}
	}
	return nil
}

// reasonOf is what the operating system says, without what was tried.
func reasonOf(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	return err.Error()
}
