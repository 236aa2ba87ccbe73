package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	lockWait  = 10 * time.Second
	lockPause = 2 * time.Millisecond
	maxLinks  = 40
)

// resolve returns the file that path leads to, also where that does not exist,
// and makes its folder.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("no path is given")
	}
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil { // no link, or nothing there
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// lockBeside waits until nobody else edits target.
func lockBeside(target string) (unlock func(), err error) {
	f, err := os.OpenFile(target+".lock", os.O_RDWR|os.O_CREATE|openNoFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't lock the config: %w; its folder must be writable", err)
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		ok, err := tryLock(f)
		if ok {
			return func() { _ = f.Close() }, nil
		}
		if !lockHeld(err) || time.Now().After(end) {
			_ = f.Close()
			return nil, fmt.Errorf("can't lock the config (%s): %w; another process may hold it, try again", f.Name(), err)
		}
	}
}

// readTarget returns nothing for a file that does not exist. One that its owner made read-only is not to be changed; that
// it could be replaced is an accident.
func readTarget(target string) ([]byte, error) {
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; give the path of the config", target)
	}
	if err == nil && info.Mode().Perm()&0o222 == 0 {
		return nil, fmt.Errorf("%s is read-only; to let it be changed, run: chmod u+w %s", target, target)
	}
	return readFile(target)
}

// replaceFile puts content in place of target, all or nothing. It is errChanged where target isn't old any more.
func replaceFile(target string, old, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(writeLike(f, target, content), f.Close()); err != nil {
		return err
	}
	if now, err := readTarget(target); err != nil || !bytes.Equal(now, old) {
		return cmp.Or(err, errChanged)
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(target))
}

// writeLike fills f and gives it the mode and owner of target.
func writeLike(f *os.File, target string, content []byte) error {
	if info, err := os.Stat(target); err == nil {
		chownLike(f, info)
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
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
