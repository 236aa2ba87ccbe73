package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const maxLinks = 40

// follow returns the file that path leads to, also where that isn't there.
func follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil { // no link, or nothing there
			return inFolder(path)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s leads round in a circle; correct the link", path)
}

// inFolder resolves links in the folders on the way, as far as they are there.
func inFolder(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return filepath.Join(dir, filepath.Base(path)), err
}

// inside reports whether a file, with its links resolved, lies below a folder.
func inside(dir, target string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, target)
	return err == nil && filepath.IsLocal(rel)
}

// readTarget returns nil for a file that isn't there. One that its owner made read-only isn't to be changed.
func readTarget(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Mistake{path + " is not a regular file", "Give the path of the client's configuration with --file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if len(data) > limit {
		return nil, &Mistake{fmt.Sprintf("%s is larger than %d MiB", path, limit>>20), "That can't be a configuration; check the path"}
	}
	return data, err
}

// makeFolders makes what is missing, and returns it.
func makeFolders(dir string) (made []string, err error) {
	if _, err := os.Stat(dir); err == nil {
		return nil, nil
	}
	if made, err = makeFolders(filepath.Dir(dir)); err != nil {
		return made, err
	}
	if err = os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return made, nil
	}
	return append(made, dir), err
}

// replaceSame puts content in place of path unless that isn't old any more.
func replaceSame(path string, old, content []byte, mode os.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o222 == 0 {
		return &Mistake{path + " is read-only", "To let it be changed, run: chmod u+w " + path}
	}
	return swap(path, content, mode, func() error {
		now, err := readTarget(path)
		if err == nil && (!bytes.Equal(now, old) || (now == nil) != (old == nil)) {
			return ErrChanged
		}
		return err
	})
}

// replace puts content in place of path, all or nothing.
func replace(path string, content []byte, mode os.FileMode) error {
	return swap(path, content, mode, func() error { return nil })
}

func swap(path string, content []byte, mode os.FileMode, last func() error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(fillLike(f, path, content, mode), f.Close(), last()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// fillLike writes f and gives it the mode and owner of the file at path; mode where there is none.
func fillLike(f *os.File, path string, content []byte, mode os.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		chownLike(f, info)
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const (
	lockWait  = 10 * time.Second
	lockPause = 5 * time.Millisecond
)

// lock makes the folder and waits until no other process applies a plan.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		err := tryLock(f)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if time.Now().After(end) {
			_ = f.Close()
			return nil, &Mistake{"another usher connect is at work", "Try again in a moment"}
		}
	}
}
