package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	openTimeout   = 10 * time.Second
	maxEndpoint   = 8 << 10
	maxStatusBody = 64 << 10
	typeEvents    = "text/event-stream"
)

// open asks for the stream and reads it up to the endpoint. After an error, drop must follow.
func (c *conn) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, errNoEndpoint)
	defer cancel()
	stop := context.AfterFunc(ctx, c.cancel) // the stream outlives ctx, so it isn't its child
	if err := c.start(); stop() {
		return err
	}
	if cause := context.Cause(ctx); cause == errNoEndpoint {
		return cause
	}
	return fmt.Errorf("opening the event stream failed: %w", ended(ctx))
}

var errNoEndpoint = fmt.Errorf("the server didn't say within %v where to post messages", openTimeout)

func (c *conn) start() error {
	res, err := c.http.Do(c.request(c.life, nethttp.MethodGet, c.url, nethttp.Header{
		"Accept": {typeEvents}, "Cache-Control": {"no-store"},
	}))
	if err != nil {
		return fmt.Errorf("opening the event stream failed: %w", dial.WithoutURL(err))
	}
	c.body = res.Body
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case res.StatusCode != nethttp.StatusOK && kind == typeEvents:
		return &transport.StatusError{ // its body may never end
			Status: res.StatusCode, RetryAfter: transport.RetryAfter(res.Header, time.Now()),
		}
	case res.StatusCode != nethttp.StatusOK:
		return statusError(res)
	case kind != typeEvents:
		return fmt.Errorf("the server answered with %q instead of an event stream: %w", cutText(kind), statusError(res))
	}
	c.events = eventstream.NewReader(res.Body, mcp.MaxMessage)
	endpoint, err := readEndpoint(c.events)
	if err != nil {
		return err
	}
	base := c.url
	if res.Request != nil { // else the RoundTripper doesn't say where redirects led to
		base = res.Request.URL
	}
	c.endpoint, err = resolve(base, endpoint)
	return err
}

// request makes a request. The headers that all requests share come beneath own.
func (c *conn) request(ctx context.Context, method string, u *url.URL, own nethttp.Header) *nethttp.Request {
	h := make(nethttp.Header, len(c.header)+len(own))
	maps.Copy(h, c.header)
	maps.Copy(h, own)
	r := &nethttp.Request{
		Method: method, URL: u, Host: c.host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return r.WithContext(ctx)
}

// readEndpoint reads up to the endpoint event. What a server says before it can't be meant for anybody.
func readEndpoint(r *eventstream.Reader) (string, error) {
	for {
		e, err := r.Next()
		switch {
		case err == io.EOF:
			return "", errors.New("the event stream ended before the server said where to post messages")
		case err != nil:
			return "", fmt.Errorf("reading the event stream failed: %w", err)
		case e.Name == "endpoint" && len(e.Data) > maxEndpoint:
			return "", errors.New("the address that the server wants messages posted to is longer than 8 KiB")
		case e.Name == "endpoint":
			return strings.TrimSpace(string(e.Data)), nil
		}
	}
}

// resolve returns the address to post to, which may be relative to base and must be of its origin (2024-11-05; what a
// client sends there bears its credentials). Errors name no path or query: they may hold the id of a session.
func resolve(base *url.URL, endpoint string) (*url.URL, error) {
	u, err := base.Parse(endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the address that the server wants messages posted to can't be read: %w", dial.URLReason(err))
	case u.User != nil:
		return nil, errors.New("the address that the server wants messages posted to holds a user or password; that isn't followed")
	case origin(u) != origin(base):
		return nil, fmt.Errorf("the server wants messages posted to another origin, %q instead of %q, which isn't followed",
			cutText(origin(u)), origin(base))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// origin is scheme, host and port (RFC 6454) in one spelling.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// statusError reads the first bytes of an answer that is none. A body that breaks off is taken as far as it came.
func statusError(res *nethttp.Response) *transport.StatusError {
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxStatusBody))
	return &transport.StatusError{Status: res.StatusCode, Body: b, RetryAfter: transport.RetryAfter(res.Header, time.Now())}
}

// cutText shortens a text of the server's for an error.
func cutText(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
