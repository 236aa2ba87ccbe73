package http

import (
	"context"
	nethttp "net/http"
	"net/url"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/transport"
)

// Options says where a server is and how it is reached.
type Options struct {
	// URL of the MCP endpoint, http or https, without user and password. For a Unix socket it is unix:///run/mcp.sock
	// with, behind a colon, the path that is asked for if that isn't /: unix:///run/mcp.sock:/mcp. In the path of the
	// socket, a colon that a slash follows is written %3A. The server reads "localhost" as Host.
	URL string
	// Header is sent with every request, and never to another host. Values are final: nothing is expanded in them.
	// Where the protocol defines a header itself (Accept, Content-Type, Mcp-*), the protocol's value wins.
	Header nethttp.Header
	// Client sends the requests. Nil: each connection gets a client of its own with the settings of internal/dial. A
	// given one is used as it is, except that its CheckRedirect is replaced; its idle connections stay its owner's. Its
	// RoundTripper must end when the request's context does, must not bound how long a body is read, brings whatever
	// authorization there is, and dials the socket of a unix URL (see Socket).
	Client *nethttp.Client
}

// client is the Transport that New returns. It is never written to after New.
type client struct {
	template *nethttp.Request // all that requests have in common, but their headers
	header   nethttp.Header   // on every request; the value slices are shared by all of them
	socket   string           // empty: TCP
	given    *nethttp.Client
}

var _ transport.Transport = (*client)(nil)

// New checks o and returns a Transport to its server. No error names a value of Header, nor the URL, which may hold a key.
func New(o Options) (transport.Transport, error) {
	u, socket, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	header, host, err := dial.Header(o.Header, isOwn)
	if err != nil {
		return nil, err
	}
	header["Accept"], header["Content-Type"] = []string{"application/json, text/event-stream"}, []string{"application/json"}
	if host == "" && socket != "" {
		host = hostOfSocket
	}
	template := &nethttp.Request{
		Method: nethttp.MethodPost, URL: u, Host: host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return &client{template: template, header: header, socket: socket, given: o.Client}, nil
}

// parseURL returns the URL of the requests, and the Unix socket that they go to, if it is one.
func parseURL(s string) (target *url.URL, socket string, err error) {
	target, err = dial.ParseWebURL(s, "https", "http", schemeUnix)
	if err == nil && target.Scheme == schemeUnix {
		socket, target, err = splitUnix(target)
	}
	return target, socket, err
}

// Connect returns a connection that opens nothing until it is used: HTTP has no connection to speak of. It fails only
// if ctx has ended.
func (t *client) Connect(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &conn{
		template: t.template, header: t.header, pace: defaultPace,
		drained: make(chan struct{}), inbox: make(chan received),
	}
	if t.given != nil {
		c.client = *t.given
	} else {
		d, err := dial.New(dial.Options{Socket: t.socket})
		if err != nil {
			return nil, err
		}
		c.client = *d.Client()
		c.release = c.client.CloseIdleConnections
	}
	c.client.CheckRedirect = checkRedirect
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}
