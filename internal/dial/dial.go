// Package dial makes the HTTP transports with which Usher reaches servers, so that time-outs, proxies and pool sizes
// are the same everywhere.
//
// It sends nothing, follows no redirect and holds no credentials.
package dial

import (
	"net"
	nethttp "net/http"
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

// Transport returns a new transport with a connection pool of its own: HTTP/1.1 and 2, the proxy of the environment
// (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), 10 s for TCP and 10 s for TLS, 32 idle connections a host for 90 s, response
// headers up to 256 KiB. It sets no time-out for an answer: the request's context does. gzip is asked for and undone,
// so whoever reads a body bounds what comes out.
//
// Whoever made it calls CloseIdleConnections when done.
func Transport() *nethttp.Transport {
	return &nethttp.Transport{
		Proxy:                  nethttp.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTimeout, KeepAlive: pingAfter}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		HTTP2:                  &nethttp.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}
