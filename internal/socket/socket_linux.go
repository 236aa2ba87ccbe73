package socket

import (
	"errors"
	"net"
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

// PeerUID is the user who made the other end of a connection over a Unix socket: for one that was accepted, who
// connected; for one that was dialed, who listens.
func PeerUID(c net.Conn) (int, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return 0, errors.New("it is no connection over a socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	if e := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

const (
	lockTries = 100
	lockGap   = 20 * time.Millisecond
)

// lockFolder opens a folder with a lock on it, which ends with the file and leaves nothing behind. Whoever may read the
// folder can hold it, so it isn't waited for without end.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == lockTries {
			_ = f.Close()
			return nil, err
		}
		time.Sleep(lockGap)
	}
}
