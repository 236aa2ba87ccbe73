// Package dial reaches servers: time-outs, proxies, pool sizes, TLS files and Unix sockets are the same for every
// transport, and so are the addresses that are refused, the URLs and headers that a user may write, and the redirects
// that are followed.
//
// It sends no message, knows no protocol of MCP and holds no credentials but the client certificate of an entry.
package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	connectTimeout = 10 * time.Second // TCP, and TLS again
	idlePerHost    = 32
	idleTimeout    = 90 * time.Second
	maxHeader      = 256 << 10
	pingAfter      = 30 * time.Second // a silent HTTP/2 connection is asked whether it lives
	pingTimeout    = 15 * time.Second
)

// Options say how one server is reached. The zero value is right for an address that the user configured.
type Options struct {
	// Host is the host of the server's address, without a port. It is needed only with TLS.CA.
	Host string
	TLS  TLS
	// Socket is the path of a Unix socket. All connections go there, whatever address is asked for, and none to a proxy.
	Socket string
	// Proxy chooses the proxy of a request; nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, as they were when the process
	// first asked.
	Proxy func(*nethttp.Request) (*url.URL, error)
	// Guard says whose word an address is.
	Guard Guard
	// Allow are ranges that the user vouches for although Named would refuse them. Link-local stays refused.
	Allow []netip.Prefix
	// Resolver looks names up; nil: the system's.
	Resolver *net.Resolver
	// Report is told, once for each change, that a TLS file changed into something unusable; nil: nobody is. It may be
	// called from any goroutine.
	Report func(error)
}

// Dialer reaches one server, or for Named all that metadata points to. It is safe for concurrent use and has nothing
// to close but the pools of the clients that it made.
type Dialer struct {
	o      Options
	ca     *watched[roots]
	pair   *watched[*tls.Certificate]
	proxy  func(*nethttp.Request) (*url.URL, error)
	passed pass
}

// New checks o and opens nothing: TLS files are read at the first handshake, so that one that is missing now may still
// come.
func New(o Options) (*Dialer, error) {
	if (o.TLS.Cert == "") != (o.TLS.Key == "") {
		return nil, errors.New("tls.cert and tls.key belong together; give both or none")
	}
	if o.TLS.CA != "" && o.Host == "" && o.TLS.ServerName == "" {
		return nil, errors.New("tls.ca needs the name of the server, which is in tls.serverName or in the url")
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	d := &Dialer{o: o, proxy: o.Proxy}
	switch {
	case o.Socket != "":
		d.proxy = func(*nethttp.Request) (*url.URL, error) { return nil, nil }
	case o.Proxy == nil:
		d.proxy = nethttp.ProxyFromEnvironment
	}
	d.ca, d.pair = o.TLS.watch(o.Report)
	return d, nil
}

// Transport returns a new transport with a connection pool of its own: HTTP/1.1 and 2, the proxy of the environment
// (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), TLS 1.2 or later, 10 s for TCP and 10 s for TLS, 32 idle connections a host for
// 90 s, response headers up to 256 KiB. It sets no time-out for an answer: the request's context does. gzip is asked
// for and undone, so whoever reads a body bounds what comes out. Link-local addresses are refused.
//
// Whoever made it calls CloseIdleConnections when done.
func Transport() *nethttp.Transport {
	d, _ := New(Options{}) // which can't fail
	return d.configured()
}

// Client returns a new client with a pool of its own, made as by Transport. For Configured it follows redirects as
// SameHost says, for Named as Bare does, and each address is checked again.
//
// Whoever made it calls CloseIdleConnections when done.
func (d *Dialer) Client() *nethttp.Client {
	if d.o.Guard == Named {
		return &nethttp.Client{Transport: d.named(), CheckRedirect: Bare}
	}
	return &nethttp.Client{Transport: d.configured(), CheckRedirect: SameHost}
}

// DialContext opens a TCP connection, or one to Options.Socket, without a proxy. The address that a name turned out to
// be is checked before a byte leaves; a refusal is a *RefusedError.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if d.o.Socket != "" {
		network, address = "unix", d.o.Socket
	}
	return d.dial(d.o.Guard)(ctx, network, address)
}

// dial returns what opens connections under g.
func (d *Dialer) dial(g Guard) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: pingAfter, Resolver: d.o.Resolver}
	dialer.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return &RefusedError{Why: "what it turned out to be is no IP address"}
		}
		return g.check(at.Addr(), d.o.Allow)
	}
	return dialer.DialContext
}

// base is a transport that dials by dial and uses no proxy.
func (d *Dialer) base(dial func(ctx context.Context, network, address string) (net.Conn, error)) *nethttp.Transport {
	return &nethttp.Transport{
		DialContext:            dial,
		TLSClientConfig:        d.TLSConfig(),
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		HTTP2:                  &nethttp.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}
