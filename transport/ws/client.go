package ws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/transport"
)

// Options says where a server is and how it is reached.
type Options struct {
	// URL of the endpoint: ws or http, wss or https, without user and password.
	URL string
	// Header is sent with the request that opens the WebSocket, and never to another host. Values are final: nothing is
	// expanded in them. Headers that belong to HTTP or WebSocket themselves are dropped.
	Header nethttp.Header
	// Client opens the connection. Nil: one with the settings of internal/dial. A given one is used as it is, except
	// that its CheckRedirect is replaced. The body of its 101 answer must be writable, as net/http's is.
	Client *nethttp.Client
	Timing
}

type client struct {
	o    Options
	host string // the Host header, if it isn't that of the URL
}

var _ transport.Transport = (*client)(nil)

// New checks o and returns a Transport to its server. No error names a value of Header, nor the URL, which may hold a
// key. Each Conn is also a transport.Describer.
func New(o Options) (transport.Transport, error) {
	u, err := dial.ParseWebURL(o.URL, "wss", "ws", "https", "http")
	if err != nil {
		return nil, err
	}
	switch u.Scheme { // what the opening request is sent by
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	}
	header, host, err := dial.Header(o.Header, isOwn)
	if err != nil {
		return nil, err
	}
	o.URL, o.Header = u.String(), header
	return &client{o, host}, nil
}

// isOwn tells headers that the upgrade sets itself.
func isOwn(name string) bool { return strings.HasPrefix(name, "Sec-Websocket-") }

// Connect opens a WebSocket. A server that selects no subprotocol is taken, as some do; one that selects another than
// "mcp" isn't. An HTTP answer that opens nothing comes as *transport.StatusError.
func (t *client) Connect(ctx context.Context) (transport.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	w := new(wire)
	hc := new(nethttp.Client)
	if t.o.Client != nil {
		*hc = *t.o.Client
	}
	if hc.Transport == nil {
		pool := dial.Transport()
		defer pool.CloseIdleConnections()
		hc.Transport = pool
	}
	hc.Transport = tap{hc.Transport, w}
	hc.CheckRedirect = checkRedirect
	c, res, err := websocket.Dial(ctx, t.o.URL, &websocket.DialOptions{
		HTTPClient: hc, HTTPHeader: t.o.Header, Host: t.host, Subprotocols: []string{subprotocol},
	})
	if err != nil {
		return nil, dialError(ctx, res, err)
	}
	return newConn(c, w, t.o.Timing), nil
}

// dialError says why no WebSocket was opened, without the URL.
func dialError(ctx context.Context, res *nethttp.Response, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("opening the WebSocket failed: %w", cause)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("opening the WebSocket failed: %w", e.Err)
	}
	if res == nil {
		return fmt.Errorf("opening the WebSocket failed: %s", shown(err.Error()))
	}
	if res.StatusCode == nethttp.StatusSwitchingProtocols {
		return fmt.Errorf("the server doesn't open a WebSocket as it should: %s", shown(err.Error()))
	}
	body, _ := io.ReadAll(res.Body)
	return &transport.StatusError{
		Status: res.StatusCode, Body: bytes.Clone(body), RetryAfter: transport.RetryAfter(res.Header, time.Now()),
	}
}

// tap keeps hold of the connection behind a 101 answer.
type tap struct {
	next nethttp.RoundTripper
	wire *wire
}

func (t tap) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil || res.StatusCode != nethttp.StatusSwitchingProtocols {
		return res, err
	}
	if rwc, ok := res.Body.(io.ReadWriteCloser); ok {
		t.wire.rwc = rwc
		res.Body = t.wire
	}
	return res, nil
}

// checkRedirect lets the request go on as dial.SameHost says.
func checkRedirect(next *nethttp.Request, via []*nethttp.Request) error {
	err := dial.SameHost(next, via)
	if e, ok := errors.AsType[*dial.RedirectError](err); ok {
		return fmt.Errorf("%w: %w", err, &transport.StatusError{Status: e.Status})
	}
	return err
}
