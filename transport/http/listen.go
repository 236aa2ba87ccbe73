package http

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	nethttp "net/http"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// pace is how streams are opened again. Only tests have another than defaultPace.
type pace struct {
	first, most time.Duration // to wait; doubled each time on the standalone stream
	least       time.Duration // between two openings of the standalone stream, whatever the server asks for
	resumes     int           // of an answer's stream, in a row without anything new
	reopens     int           // of the standalone stream, likewise
}

var defaultPace = pace{
	first: time.Second, most: 30 * time.Second, least: 100 * time.Millisecond, resumes: 5, reopens: 10,
}

// noStream says that the server gives no stream, however often it is asked.
type noStream struct{ reason string }

func (n *noStream) Error() string { return n.reason }

// notNow says that the server may give a stream later.
type notNow struct {
	reason string
	after  time.Duration // of Retry-After; 0: it doesn't say
}

func (n *notNow) Error() string { return n.reason }

// listen asks for a stream of events by GET: for what follows lastID on the stream that it belongs to, or, if it is
// empty, for the standalone stream. Its errors are *noStream and *notNow; neither names the URL.
func (c *conn) listen(ctx context.Context, session, revision, lastID string) (*nethttp.Response, error) {
	h, err := c.headers(mcp.Mirror{Revision: revision}, session)
	if err != nil {
		return nil, &noStream{err.Error()}
	}
	h.Del("Content-Type")
	h["Accept"] = []string{typeEvents}
	if lastID != "" {
		h["Last-Event-Id"] = []string{lastID}
	}
	r := c.template.WithContext(ctx)
	r.Method, r.Header = nethttp.MethodGet, h
	res, err := c.client.Do(r)
	if err != nil {
		return nil, unreached(err)
	}
	if res.StatusCode == nethttp.StatusOK && contentType(res) == typeEvents {
		return res, nil
	}
	if res.ContentLength >= 0 && res.ContentLength <= maxRest {
		drain(res)
	} else {
		_ = res.Body.Close()
	}
	return nil, noEvents(res)
}

func unreached(err error) error {
	err = dial.WithoutURL(err)
	if _, ok := errors.AsType[*transport.StatusError](err); ok { // a redirect that isn't followed
		return &noStream{err.Error()}
	}
	return &notNow{reason: err.Error()}
}

// noEvents sorts an answer that is no stream. 404, 405 and 406 are what the revisions allow a server without one; 409 is
// that of a server that hasn't noticed yet that the old stream is gone. Credentials are the business of Options.Client:
// what it couldn't get past won't be got past by asking again.
func noEvents(res *nethttp.Response) error {
	reason := fmt.Sprintf("the server answered GET with HTTP status %d", res.StatusCode)
	switch code := res.StatusCode; {
	case succeeded(res):
		return &noStream{fmt.Sprintf("%s and no event stream", reason)}
	case code == nethttp.StatusNotImplemented, code == nethttp.StatusHTTPVersionNotSupported:
		return &noStream{reason}
	case code >= 500, code == nethttp.StatusRequestTimeout, code == nethttp.StatusConflict,
		code == nethttp.StatusTooEarly, code == nethttp.StatusTooManyRequests:
		return &notNow{reason: reason, after: transport.RetryAfter(res.Header, time.Now())}
	}
	return &noStream{reason}
}

// laterOf returns the longer of wait and what err asks for.
func laterOf(wait time.Duration, err error) time.Duration {
	if n, ok := errors.AsType[*notNow](err); ok {
		return max(wait, n.after)
	}
	return wait
}

// backoff is how long to wait before the standalone stream is opened once more: what the server asked for; if it didn't,
// or if that was of no use, doubling times, of which up to a half is left to chance.
func (p pace) backoff(retry time.Duration, idle int) time.Duration {
	if retry > 0 && idle == 0 {
		return max(retry, p.least)
	}
	d := p.first
	for range idle {
		d = min(2*d, p.most)
	}
	return max(retry, p.least, d-rand.N(d/2+1))
}

// floor is what is waited at least after so many connections in a row that didn't last: least, doubled with each of them
// up to first.
func (p pace) floor(least time.Duration, brief int) time.Duration {
	return min(least<<min(max(brief-1, 0), 10), p.first)
}

// sleep waits; false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
