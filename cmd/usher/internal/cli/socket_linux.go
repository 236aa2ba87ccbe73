package cli

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// private makes the file of a socket that is about to be bound 0600 from its first moment on: Linux takes the mode of the
// socket for it.
func private(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0o600) }); e != nil {
		return e
	}
	return err
}

const (
	lockTries = 100
	lockGap   = 20 * time.Millisecond
)

// lockFolder holds a lock on a folder, which leaves no file behind. Whoever may read the folder can hold it, so it isn't
// waited for without end.
func lockFolder(path string) (unlock func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == lockTries {
			_ = f.Close()
			return nil, err
		}
		time.Sleep(lockGap)
	}
}
