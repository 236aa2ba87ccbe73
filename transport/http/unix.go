package http

import (
	"errors"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/usher-mcp/usher/internal/dial"
)

const (
	schemeUnix = "unix"
	// socketHost stands in the URL of a request over a Unix socket. It is never looked up, and leads nowhere if a Client
	// that knows nothing of the socket looks it up (RFC 6761). What the server reads as Host is hostOfSocket.
	socketHost   = "unix-socket.invalid"
	hostOfSocket = "localhost"
	// maxSocketPath is what the kernel takes as the address of a socket.
	maxSocketPath = 107
)

// Socket returns the path of the Unix socket that a URL for Options names; ok is false if it names none, or in a way that
// New refuses. Whoever gives a Client has it dial this path (internal/dial has an option for it).
func Socket(rawURL string) (path string, ok bool) {
	u, err := dial.ParseURL(rawURL, schemeUnix)
	if err != nil {
		return "", false
	}
	path, _, err = splitUnix(u)
	return path, err == nil
}

// splitUnix makes of unix:///run/mcp.sock:/mcp the path of the socket and the URL of the requests.
func splitUnix(u *url.URL) (socket string, target *url.URL, err error) {
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return "", nil, errors.New("the url of a unix socket needs its absolute path: unix:///path/to.sock:/mcp")
	}
	socket, path, _ := strings.Cut(u.EscapedPath(), ":/")
	if socket, err = url.PathUnescape(socket); err != nil || strings.ContainsRune(socket, 0) {
		return "", nil, errors.New("the path of the unix socket in the server's url can't be read")
	}
	if len(socket) > maxSocketPath {
		return "", nil, errors.New("the path of the unix socket is longer than 107 bytes; use a shorter one, or a symbolic link")
	}
	target, err = url.Parse("http://" + socketHost + "/" + path)
	if err != nil {
		return "", nil, errors.New("the path behind the unix socket in the server's url can't be read")
	}
	target.RawQuery = u.RawQuery
	return socket, target, nil
}

// keepSocket leaves a redirect on the socket where its server names itself as it was asked, by the Host.
func keepSocket(next, first *nethttp.Request) {
	if first.URL.Host == socketHost && next.URL.Scheme == "http" && strings.EqualFold(next.URL.Host, first.Host) {
		next.URL.Host, next.Host = socketHost, first.Host
	}
}
