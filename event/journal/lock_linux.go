package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const lockName = ".lock"

// tryLock takes the lock of an open file, or reports that someone else has it. Locks belong to the open file, so they
// end with the process however it ends, and they hold between two journals of one process too.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// lockFolder serialises starts in one folder. Close the file to unlock.
func lockFolder(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockWithin(ctx, f, syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockWithin polls: a blocking flock could not be given up when ctx ends.
func lockWithin(ctx context.Context, f *os.File, how int) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := tryLock(f, how)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("another process that starts holds "+f.Name()), ctx.Err())
		case <-ticker.C:
		}
	}
}

// lockNew takes the lock of a file of our own that nobody else should have. A reader that tests whether we live may
// have it for a moment.
func lockNew(f *os.File) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return lockWithin(ctx, f, syscall.LOCK_EX)
}

// isLocked reports whether a writer has the file.
func isLocked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := tryLock(f, syscall.LOCK_SH)
	return !free, err
}

// sharedFolderLock is for readers; it is nil where there is no lock file or it can't be opened.
func sharedFolderLock(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return nil, nil
	}
	if err := lockWithin(ctx, f, syscall.LOCK_SH); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
