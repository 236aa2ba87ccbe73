package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errNoFile is for what is there and can't be a configuration: a folder, a pipe, a device.
var errNoFile = errors.New("it is no file")

// readOnce reads a file whole, at most one byte more than a configuration may have. What is looked at is what is read:
// the path isn't looked up again. A pipe that nobody writes to keeps nobody waiting.
func readOnce(path string) ([]byte, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNow, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("can't read the config: %w; check the path and its permissions", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("can't read the config: %w; put a file there, or nothing", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, nil, fmt.Errorf("can't read the config: %w; it must be a file that this user may read", err)
	}
	return data, info, nil
}

// missing says that there is nothing at all. A link that leads nowhere is something, also where it is a folder above.
func missing(path string) bool {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			_, err = os.Stat(dir)
			return err == nil
		}
	}
	return true
}

// canonical is the one path that a folder has: absolute, without links. Upper and lower case, and composed and decomposed
// letters, stay apart, since folders that differ in them are different ones.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("can't tell which folder %s is: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("can't look for the project's configuration: %w; work in a folder that is there", err)
	}
	return real, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
