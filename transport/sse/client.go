package sse

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
	// URL of the event stream, http or https, without user and password.
	URL string
	// Header is sent with every request, and never to another origin. Values are final: nothing is expanded in them.
	// Where HTTP or the protocol defines a header itself (Accept, Content-Type, Cache-Control), that value wins.
	Header nethttp.Header
	// Client sends the requests. Nil: each connection gets a client of its own with the settings of internal/dial. A
	// given one is used as it is, except that its CheckRedirect is replaced and its Timeout is ignored, which would cut
	// the stream; its idle connections stay its owner's. Its RoundTripper must end when the request's context does.
	Client *nethttp.Client
}

// client is the Transport that New returns. It is never written to after New.
type client struct {
	url    *url.URL
	host   string         // in place of the URL's, in the Host header; usually empty
	header nethttp.Header // on every request; the value slices are shared by all of them
	given  *nethttp.Client
}

var _ transport.Transport = (*client)(nil)

// New checks o and returns a Transport to its server. No error names a value of Header, nor the URL, which may hold a
// key. The connections are no mcp.Handler.
func New(o Options) (transport.Transport, error) {
	u, err := dial.ParseWebURL(o.URL, "https", "http")
	if err != nil {
		return nil, err
	}
	header, host, err := dial.Header(o.Header, isOwn)
	if err != nil {
		return nil, err
	}
	return &client{url: u, host: host, header: header, given: o.Client}, nil
}

// isOwn tells headers that a user's configuration can't set, because the protocol does.
func isOwn(name string) bool {
	switch name {
	case "Accept", "Cache-Control", "Content-Type", "Last-Event-Id":
		return true
	}
	return false
}

// httpClient returns the client of one connection and what to call at its end.
func (t *client) httpClient() (c nethttp.Client, release func()) {
	release = func() {}
	if t.given != nil {
		c = *t.given
	} else {
		pool := dial.Transport()
		c.Transport, release = pool, pool.CloseIdleConnections
	}
	c.CheckRedirect, c.Timeout = checkRedirect, 0
	return c, release
}

// checkRedirect lets a request go on within its origin only, and only as what it was.
func checkRedirect(next *nethttp.Request, via []*nethttp.Request) error {
	err := dial.SameHost(next, via)
	if err == nil && next.URL.Scheme != via[0].URL.Scheme {
		err = &dial.RedirectError{
			Status: next.Response.StatusCode, To: next.URL.Scheme + "://" + next.URL.Host,
			Why: "another scheme, which isn't followed; make it the url of this server",
		}
	}
	if e, ok := errors.AsType[*dial.RedirectError](err); ok {
		return fmt.Errorf("%w: %w", err, &transport.StatusError{Status: e.Status})
	}
	return err
}

// Connect asks for the event stream and waits for the address to post to, until ctx ends, 10 s at most. A refusal is a
// *transport.StatusError; one with a status of success wasn't an event stream.
func (t *client) Connect(ctx context.Context) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, notSent(ended(ctx))
	}
	c := newConn(t)
	if err := c.open(ctx); err != nil {
		c.drop()
		return nil, err
	}
	go c.read()
	return c, nil
}
