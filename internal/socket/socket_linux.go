package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	cred, err := peer(c)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// PeerPID is the process that made the other end, as PeerUID is its user; 0 where it is in another PID namespace. It may
// have handed the connection on, or have ended since: PeerLives tells the latter.
func PeerPID(c net.Conn) (int, error) {
	cred, err := peer(c)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// PeerLives returns an error if the process of PeerPID has ended, so that its id may be another one's. What was read about
// that id before PeerLives returned nil is about the peer. A kernel before Linux 6.5 can't tell, and it returns nil.
func PeerLives(c net.Conn) error {
	var err error
	if e := control(c, func(fd int) { err = lives(fd) }); e != nil {
		return e
	}
	return err
}

func lives(socket int) error {
	fd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case errors.Is(err, unix.ENOPROTOOPT):
		return nil
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

func peer(c net.Conn) (cred *syscall.Ucred, err error) {
	if e := control(c, func(fd int) {
		cred, err = syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil {
		return nil, e
	}
	return cred, err
}

func control(c net.Conn, f func(fd int)) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("it is no connection over a socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
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
