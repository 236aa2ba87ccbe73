package http

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/transport"
)

// Options says where a server is and how it is reached.
type Options struct {
	// URL of the MCP endpoint, http or https, without user and password.
	URL string
	// Header is sent with every request, and never to another host. Values are final: nothing is expanded in them.
	// Where the protocol defines a header itself (Accept, Content-Type, Mcp-*), the protocol's value wins.
	Header nethttp.Header
	// Client sends the requests. Nil: each connection gets a client of its own with the settings of internal/dial. A
	// given one is used as it is, except that its CheckRedirect is replaced; its idle connections stay its owner's. Its
	// RoundTripper must end when the request's context does.
	Client *nethttp.Client
}

// client is the Transport that New returns. It is never written to after New.
type client struct {
	template *nethttp.Request // all that requests have in common, but their headers
	header   nethttp.Header   // on every request; the value slices are shared by all of them
	given    *nethttp.Client
}

var _ transport.Transport = (*client)(nil)

// New checks o and returns a Transport to its server. No error names a value of Header, nor the URL, which may hold a key.
func New(o Options) (transport.Transport, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	header, err := cleanHeader(o.Header)
	if err != nil {
		return nil, err
	}
	host := header.Get("Host") // net/http takes it from there, not from the headers
	header.Del("Host")
	template := &nethttp.Request{
		Method: nethttp.MethodPost, URL: u, Host: host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return &client{template: template, header: header, given: o.Client}, nil
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("the server's url can't be read: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the server's url must begin with https:// or http://")
	case u.Hostname() == "":
		return nil, errors.New("the server's url names no host")
	case u.User != nil:
		return nil, errors.New("the server's url holds a user or password; send them in an Authorization header")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// cleanHeader copies h with canonical names. Idempotency keys are refused because net/http resends what bears one, and
// one key can't stand for every request.
func cleanHeader(h nethttp.Header) (nethttp.Header, error) {
	out := make(nethttp.Header, len(h)+3)
	for name, values := range h {
		if !isToken(name) {
			return nil, fmt.Errorf("the header name %q isn't one that HTTP allows", name)
		}
		name = nethttp.CanonicalHeaderKey(name)
		if name == "Idempotency-Key" || name == "X-Idempotency-Key" {
			return nil, fmt.Errorf("the header %s can't be the same for all requests; remove it", name)
		}
		for _, v := range values {
			if !isFieldValue(v) {
				return nil, fmt.Errorf("the value of the header %s holds a line break or another control character", name)
			}
			out.Add(name, v)
		}
	}
	for name := range out {
		if ownHeaders[name] {
			delete(out, name)
		}
	}
	if out.Get("User-Agent") == "" {
		out.Set("User-Agent", "usher")
	}
	out.Set("Accept", "application/json, text/event-stream")
	out.Set("Content-Type", "application/json")
	return out, nil
}

// Connect returns a connection that opens nothing until it is used: HTTP has no connection to speak of. It fails only
// if ctx has ended.
func (t *client) Connect(ctx context.Context) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &conn{template: t.template, header: t.header, drained: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.Background())
	if t.given != nil {
		c.client = *t.given
	} else {
		pool := dial.Transport()
		c.client.Transport = pool
		c.release = pool.CloseIdleConnections
	}
	c.client.CheckRedirect = checkRedirect
	return c, nil
}
