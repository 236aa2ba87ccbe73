// Package socket listens on Unix sockets that only this user can reach, and connects to them. It replaces a socket that
// nobody listens on any more, and never one that somebody does.
//
// It says nothing about what is spoken over them, and words no error for a person: that is the caller's.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// MaxPath is the longest path, in bytes, by which any program can reach a socket: the kernel's bound for its address.
const MaxPath = 107

// What stands in the way of a new socket.
var (
	ErrTaken     = errors.New("somebody listens on that socket")
	ErrNotSocket = errors.New("there is something else than a socket")
)

const knockTime = time.Second

// Listen listens on path, of any length, with mode 0600 from the first moment on. A socket that nobody listens on any
// more, as a killed process leaves it, is replaced; of several processes that do so at once one gets it. The folder must
// be there. Close removes the socket, unless another one stands in its place by then. The error is ErrTaken,
// ErrNotSocket, or the operating system's.
func Listen(path string) (net.Listener, error) {
	path = filepath.Clean(path)
	folder, err := lockFolder(filepath.Dir(path)) // two that start at once don't remove each other's socket
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := clearWay(path, address(path, folder)); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{Control: private}).Listen(context.Background(), "unix", address(path, folder))
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &listener{Listener: l, path: path}
	if s.file, err = os.Lstat(path); err != nil {
		_ = l.Close()
		return nil, err
	}
	return s, nil
}

// Dial connects to the socket at path, of any length. The error is the operating system's.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= MaxPath {
		return d.DialContext(ctx, "unix", path)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return d.DialContext(ctx, "unix", address(path, folder))
}

// address is by what the kernel finds path, which lies in folder, whatever its length. It is good while folder is open.
func address(path string, folder *os.File) string {
	if len(path) <= MaxPath {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
}

// clearWay removes a socket that nobody listens on.
func clearWay(path, address string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return ErrNotSocket
	}
	c, err := net.DialTimeout("unix", address, knockTime)
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return ErrTaken
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// listener removes its file at its end, if it is still its own.
type listener struct {
	net.Listener
	path string
	file fs.FileInfo
	once sync.Once
	err  error
}

func (l *listener) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
			_ = os.Remove(l.path)
		}
		l.err = l.Listener.Close()
	})
	return l.err
}
