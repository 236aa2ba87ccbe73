package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/usher-mcp/usher/fault"
)

const (
	maxSocketPath = 107 // bytes, the kernel's bound
	knockTime     = time.Second
)

// listenSocket listens on unix:///path. Only this user can connect. A socket that nobody listens on any more, as a killed
// process leaves it, is replaced.
func listenSocket(flag, address string) (net.Listener, error) {
	path, isURL := strings.CutPrefix(address, "unix://")
	such := "Such as: " + flag + " unix:///run/user/" + fmt.Sprint(os.Getuid()) + "/usher.sock"
	switch {
	case !isURL || !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return nil, usage(fmt.Sprintf("%s %s names no absolute path", flag, address), such)
	case strings.Contains(path, ":/"), strings.ContainsAny(path, "%?#"):
		return nil, usage(fmt.Sprintf("%s %s: the path of a socket can't have %%, ?, # or :/ here", flag, address), such)
	case len(path) > maxSocketPath:
		return nil, usage(fmt.Sprintf("%s: the path of a socket has at most %d bytes", flag, maxSocketPath), such)
	}
	path = filepath.Clean(path)
	unlock, err := lockFolder(filepath.Dir(path)) // two ushers that start at once don't remove each other's socket
	if err != nil {
		return nil, cantListen(path, err)
	}
	defer unlock()
	if err := clearWay(path); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{Control: private}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, cantListen(path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	s := &socket{Listener: l, path: path}
	if s.file, err = os.Lstat(path); err != nil {
		_ = l.Close()
		return nil, cantListen(path, err)
	}
	return s, nil
}

// clearWay removes a socket that nobody listens on.
func clearWay(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cantListen(path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return &failure{fault.ExitUnavailable, path + " is there already, and is no socket", "Name another path, or remove it yourself"}
	}
	c, err := net.DialTimeout("unix", path, knockTime)
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return &failure{fault.ExitUnavailable, "the socket " + path + " is taken; maybe by another usher", "Name another path"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cantListen(path, err)
	}
	return nil
}

func cantListen(path string, err error) error {
	why := err
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		why = e
	}
	return &failure{fault.ExitUnavailable, "can't listen on " + path + ": " + why.Error(), "Name a path in a folder of your own"}
}

// socket removes its file at its end, if it is still its own.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
	once sync.Once
	err  error
}

func (s *socket) Close() error {
	s.once.Do(func() {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
			_ = os.Remove(s.path)
		}
		s.err = s.Listener.Close()
	})
	return s.err
}
