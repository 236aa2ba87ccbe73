package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/usher-mcp/usher/fault"
)

const (
	defaultListen = "127.0.0.1:7391"

	pathHTTP = "/mcp"
	pathWS   = "/ws"
	pathSSE  = "/sse"
)

// addresses are what the flags of usher serve say; empty ones share that of http, or aren't served.
type addresses struct{ http, ws, sse, grpc string }

// doors are what usher serve listens on.
type doors struct {
	listeners []*listener
	ends      []end // in the order in which they are shown
}

// listener is one address and what there is behind it.
type listener struct {
	net.Listener
	paths []string // of HTTP
	grpc  bool
}

// end is one way in.
type end struct {
	key, name string // in JSON, and on the screen
	url       string
}

// openDoors listens on all addresses, or on none.
func openDoors(at addresses) (_ *doors, err error) {
	d := new(doors)
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	first, err := d.listen("--listen", at.http)
	if err != nil {
		return nil, err
	}
	d.add(first, end{key: "url", name: "HTTP"}, "http", pathHTTP)
	for _, way := range []struct{ flag, address, key, name, scheme, path string }{
		{"--listen-ws", at.ws, "ws", "WebSocket", "ws", pathWS},
		{"--listen-sse", at.sse, "sse", "SSE", "http", pathSSE},
	} {
		l := first
		if way.address != "" {
			if l, err = d.listen(way.flag, way.address); err != nil {
				return nil, err
			}
		}
		d.add(l, end{key: way.key, name: way.name}, way.scheme, way.path)
	}
	if at.grpc == "" {
		return d, nil
	}
	l, err := d.listen("--listen-grpc", at.grpc)
	if err != nil {
		return nil, err
	}
	l.grpc = true
	d.ends = append(d.ends, end{"grpc", "gRPC", address(l, "grpc")})
	return d, nil
}

func (d *doors) add(l *listener, e end, scheme, path string) {
	l.paths = append(l.paths, path)
	e.url = address(l, scheme) + path
	if _, isSocket := l.Addr().(*net.UnixAddr); isSocket {
		e.url = address(l, scheme) + ":" + path // as entries of the configuration have it
	}
	d.ends = append(d.ends, e)
}

func address(l net.Listener, scheme string) string {
	if _, isSocket := l.Addr().(*net.UnixAddr); isSocket {
		scheme = "unix"
	}
	return scheme + "://" + l.Addr().String()
}

// urls are the addresses by their names in JSON.
func (d *doors) urls() map[string]string {
	urls := map[string]string{}
	for _, e := range d.ends {
		urls[e.key] = e.url
	}
	return urls
}

func (d *doors) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
}

// elsewhere answers whoever takes the wrong path.
func elsewhere(paths []string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "usher is at "+strings.Join(paths, ", "), http.StatusNotFound)
	}
}

func (d *doors) listen(flag, address string) (*listener, error) {
	open := listenLocal
	if strings.HasPrefix(address, "unix:") {
		open = listenSocket
	}
	l, err := open(flag, address)
	if err != nil {
		return nil, err
	}
	d.listeners = append(d.listeners, &listener{Listener: l})
	return d.listeners[len(d.listeners)-1], nil
}

// listenLocal listens on an address that only this machine reaches.
func listenLocal(flag, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage(fmt.Sprintf("%s %s is no address with a port", flag, address), "Such as: "+flag+" "+defaultListen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage(fmt.Sprintf("%s %s would let other machines in, and there is no authentication in this version", flag, address),
			"Use 127.0.0.1 or ::1, and a tunnel such as ssh -L for another machine")
	}
	if host == "localhost" {
		host = "127.0.0.1" // whatever the resolver thinks
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	free := "Take a free one: " + self + " serve " + flag + " 127.0.0.1:0"
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &failure{fault.ExitUnavailable, "port " + port + " is taken; maybe by another usher", free}
	case errors.Is(err, syscall.EACCES):
		return nil, &failure{fault.ExitUnavailable, "port " + port + " is not yours to take", free}
	}
	return nil, usage("can't listen on "+address+": "+strings.TrimPrefix(err.Error(), "listen tcp: "), "Such as: "+flag+" "+defaultListen)
}
