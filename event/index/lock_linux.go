package index

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lock takes the lock of the index's users, shared, or exclusive to make it anew. It waits until ctx ends, or for
// patience, or until enough, which may be nil, says that there is no more need: then the file is nil. Close the file to
// unlock; the end of the process does so too.
func lock(ctx context.Context, name string, how int, enough func() bool) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, err
		}
		if enough != nil && enough() {
			return nil, f.Close()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, errors.Join(errBusy, ctx.Err())
		case <-tick.C:
		}
	}
}

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX
)

// inode tells a file from another one of the same name.
func inode(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Ino)
	}
	return 0
}
