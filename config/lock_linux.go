package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const openNoFollow = syscall.O_NOFOLLOW

// tryLock takes the advisory lock of an open file; closing the file, also by the
// end of the process, gives it back. err is nil only if ok.
func tryLock(f *os.File) (ok bool, err error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil, err
		}
	}
}

// lockHeld says whether another one has the lock.
func lockHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

func chownLike(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may; then sudo must not take the file away
	}
}
