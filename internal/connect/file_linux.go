package connect

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking keeps a pipe in a file's place from being waited for.
const nonBlocking = syscall.O_NONBLOCK

// tryLock takes the advisory lock of an open file; closing it gives it back.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func chownLike(f *os.File, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may; then sudo must not take the file away
	}
}
