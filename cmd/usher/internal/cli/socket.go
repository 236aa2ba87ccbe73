package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/socket"
)

// listenSocket listens on unix:///path. Only this user can connect.
func listenSocket(flag, address string) (net.Listener, error) {
	path, isURL := strings.CutPrefix(address, "unix://")
	such := "Such as: " + flag + " unix:///run/user/" + fmt.Sprint(os.Getuid()) + "/usher.sock"
	switch {
	case !isURL || !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return nil, usage(fmt.Sprintf("%s %s names no absolute path", flag, address), such)
	case strings.Contains(path, ":/"), strings.ContainsAny(path, "%?#"):
		return nil, usage(fmt.Sprintf("%s %s: the path of a socket can't have %%, ?, # or :/ here", flag, address), such)
	case len(path) > socket.MaxPath:
		return nil, usage(fmt.Sprintf("%s: the path of a socket has at most %d bytes", flag, socket.MaxPath), such)
	}
	path = filepath.Clean(path)
	l, err := socket.Listen(path)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, socket.ErrTaken):
		return nil, &failure{fault.ExitUnavailable, "the socket " + path + " is taken; maybe by another usher", "Name another path"}
	case errors.Is(err, socket.ErrNotSocket):
		return nil, &failure{fault.ExitUnavailable, path + " is there already, and is no socket", "Name another path, or remove it yourself"}
	}
	why := err
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		why = e
	}
	return nil, &failure{fault.ExitUnavailable, "can't listen on " + path + ": " + why.Error(), "Name a path in a folder of your own"}
}
