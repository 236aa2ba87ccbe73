package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/transport"
)

// Options say where a server is and how it is reached.
type Options struct {
	// URL is grpc://host:port (plaintext), grpcs://host:port (TLS), or unix:///path of a socket.
	URL string
	// TLS is for grpcs://, where nil means the system's CAs and no client certificate, and for unix://, where nil means
	// plaintext. With grpc:// it has to be nil.
	TLS *tls.Config
	// Header is sent as metadata when a connection is opened. Names are case-insensitive, values visible ASCII and
	// spaces; nothing is expanded in them. What it holds may be secret, so plaintext to another machine is refused.
	Header map[string][]string
	// PlaintextHeader allows just that, for networks that encrypt below gRPC.
	PlaintextHeader bool
	// Dial opens the socket to "host:port", through a proxy if need be, and resolves the host while it does: as
	// Dialer.Tunnel of internal/dial. TLS comes on top of it. Nil: gRPC does all that, by the proxy of the environment
	// (HTTPS_PROXY, NO_PROXY) for other machines. Not used for unix://.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Ping is after how much silence the server is asked whether it lives; it has 15 s, or as long as Ping if that is
	// less, to answer. 0: 30 s. gRPC pings not more often than every 10 s.
	Ping time.Duration
}

const (
	defaultPing = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// New checks o and returns a Transport to its server. Each connection has a socket of its own. No error names a value of
// Header. A Conn is also a transport.Describer.
func New(o Options) (transport.Transport, error) {
	a, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if a.scheme == schemePlain && o.TLS != nil {
		return nil, errors.New("the server's url is grpc://, which would not use its TLS settings; write grpcs://")
	}
	md, err := toMetadata(o.Header)
	if err != nil {
		return nil, err
	}
	if len(md) > 0 && a.scheme == schemePlain && !a.loopback() && !o.PlaintextHeader {
		return nil, errors.New("headers would go to another machine unencrypted; write grpcs:// in the server's url")
	}
	if o.Ping <= 0 {
		o.Ping = defaultPing
	}
	return &client{address: a, o: o, md: md, secrets: values(md)}, nil
}

const (
	schemePlain = "grpc"
	schemeTLS   = "grpcs"
	schemeUnix  = "unix"
)

// address is where a server listens.
type address struct {
	scheme string
	host   string // host:port, of a socket its path
}

func parseURL(s string) (address, error) {
	u, err := dial.ParseURL(s, schemeTLS, schemePlain, schemeUnix)
	if err != nil {
		return address{}, err
	}
	switch {
	case u.RawQuery != "" || u.Fragment != "":
		return address{}, errors.New("the server's url holds a query or a fragment, which gRPC has no use for")
	case u.Scheme == schemeUnix:
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			return address{}, errors.New("the path of the server's socket must be absolute: unix:///run/server.sock")
		}
		return address{schemeUnix, u.Path}, nil
	case u.Hostname() == "" || u.Port() == "":
		return address{}, errors.New("the server's url must name a host and a port: grpcs://host:port")
	case u.Path != "" && u.Path != "/":
		return address{}, errors.New("the server's url holds a path, which gRPC has no use for")
	}
	return address{u.Scheme, u.Host}, nil
}

// loopback reports whether what is sent there stays on this machine.
func (a address) loopback() bool {
	if a.scheme == schemeUnix {
		return true
	}
	host, _, err := net.SplitHostPort(a.host)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// target is a in gRPC's own words.
func (a address) target(dialed bool) string {
	switch {
	case a.scheme == schemeUnix:
		return "passthrough:///localhost"
	case dialed:
		return (&url.URL{Scheme: "passthrough", Path: "/" + a.host}).String()
	}
	return (&url.URL{Scheme: "dns", Path: "/" + a.host}).String()
}

// ownNames are headers that gRPC or HTTP/2 sets. Read only.
var ownNames = map[string]bool{
	"content-type": true, "te": true, "user-agent": true, "host": true, "connection": true, "content-length": true,
	"transfer-encoding": true, "upgrade": true, "trailer": true, "accept-encoding": true,
}

// toMetadata checks what gRPC would only refuse in the midst of a connection, or drop.
func toMetadata(header map[string][]string) (metadata.MD, error) {
	md := metadata.MD{}
	for name, values := range header {
		lower := strings.ToLower(name)
		switch {
		case !isKey(lower):
			return nil, fmt.Errorf("the header name %q isn't one that gRPC allows", name)
		case ownNames[lower] || strings.HasPrefix(lower, "grpc-"):
			return nil, fmt.Errorf("the header %s is gRPC's own; remove it", name)
		case strings.HasSuffix(lower, "-bin"):
			return nil, fmt.Errorf("the header %s would be sent as base64, since its name ends in -bin; rename it", name)
		}
		for _, v := range values {
			if !isValue(v) {
				return nil, fmt.Errorf("the value of the header %s must be visible ASCII, with spaces only inside", name)
			}
			md.Append(lower, v)
		}
	}
	return md, nil
}

// isKey is the Header-Name of the gRPC specification.
func isKey(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return s != ""
}

// isValue is its ASCII-Value, without spaces at the ends, which are lost on the way.
func isValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == strings.TrimSpace(s)
}
