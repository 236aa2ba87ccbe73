package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	// What a server says to a message that it has taken means nothing, but is read, at most maxRest bytes in restTime, so
	// that the TCP connection can be used again, and because some servers end their work if it isn't. A Send waits no
	// longer than graceTime for it.
	maxRest   = 64 << 10
	restTime  = 30 * time.Second
	graceTime = 10 * time.Millisecond
	// writeTime is how long a message that is being written when its context ends may go on.
	writeTime = 100 * time.Millisecond
	// tellTime is how long the server's word on a notification or an answer is waited for, once it's written: nobody has
	// a use for it, but what comes next must not overtake it.
	tellTime = 2 * time.Second

	// maxPosts is how many requests of a connection are posted at once; others wait. It is below what HTTP/2 servers let
	// through on one TCP connection. Notifications and answers never wait: a server may hold a post until they come.
	maxPosts = 128
)

var errEnded = errors.New("the connection to the server has ended")

// Send posts m. Any status of success means that the server has it; others come as *transport.StatusError. The answer to
// a request comes by Receive. If ctx ends when m was written, but the server hasn't said yet that it took it, Send
// returns nil: m can't be called back, and a cancellation must come after it. So it does after 2 s if m is no request.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	if ctx.Err() != nil {
		return notSent(ended(ctx))
	}
	body := m.AppendTo(make([]byte, 0, m.Size()))
	if len(body) > mcp.MaxMessage {
		return notSent(errors.New("the message is longer than 16 MiB"))
	}
	if !c.enter() {
		return notSent(errEnded)
	}
	if m.IsRequest() {
		if err := c.acquire(ctx); err != nil {
			c.leave()
			return notSent(err)
		}
		defer func() { <-c.posts }()
	}
	p := c.newPost(ctx)
	go p.run(body)
	defer p.giveUp()
	if m.IsRequest() {
		return p.wait(ctx, nil)
	}
	timer := time.NewTimer(tellTime)
	defer timer.Stop()
	return p.wait(ctx, timer.C)
}

// acquire waits until a request may be posted.
func (c *conn) acquire(ctx context.Context) error {
	select {
	case c.posts <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-c.done:
		return errEnded
	}
}

func notSent(reason error) error { return fmt.Errorf("%w: %w", transport.ErrNotSent, reason) }

// post is one POST, which may outlast its Send. Its context ends with the connection.
type post struct {
	conn    *conn
	ctx     context.Context
	cancel  context.CancelFunc
	verdict chan error    // has room for the one that comes
	done    chan struct{} // all is read and closed

	// A RoundTripper that says it looks for a connection, and never that it has one, can't have written anything.
	looked, found atomic.Bool
	once          sync.Once
	written       chan struct{} // closed when all of the request left
}

func (c *conn) newPost(ctx context.Context) *post {
	p := &post{conn: c, verdict: make(chan error, 1), done: make(chan struct{}), written: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return p
}

// wait waits for the server's word until ctx ends or enough comes; then, if all is written, no longer.
func (p *post) wait(ctx context.Context, enough <-chan time.Time) error {
	select {
	case err := <-p.verdict:
		if err == nil && !isClosed(p.done) {
			within(p.done, graceTime)
		}
		return err
	case <-enough:
		if !isClosed(p.written) {
			return p.wait(ctx, nil)
		}
		return nil
	case <-ctx.Done():
	}
	if p.found.Load() { // then it's written in no time, or the server doesn't read
		within(p.written, writeTime)
	}
	if isClosed(p.written) {
		return nil
	}
	p.cancel()
	switch err := <-p.verdict; {
	case err == nil || isClosed(p.written):
		return nil
	case errors.Is(err, transport.ErrNotSent):
		return notSent(ended(ctx))
	default:
		return fmt.Errorf("posting a message failed: %w", ended(ctx))
	}
}

// giveUp ends a post whose answer doesn't come in time, once nobody waits for it: a server that takes messages and never
// says so would collect connections.
func (p *post) giveUp() {
	if !isClosed(p.done) {
		time.AfterFunc(p.conn.rest, p.cancel)
	}
}

// run posts body, says what came of it, and reads the rest.
func (p *post) run(body []byte) {
	defer p.conn.leave()
	defer close(p.done)
	defer p.cancel()
	defer context.AfterFunc(p.conn.life, p.cancel)()
	res, err := p.do(body)
	if err != nil {
		p.verdict <- err
		return
	}
	defer res.Body.Close()
	defer time.AfterFunc(p.conn.rest, p.cancel).Stop()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		p.verdict <- statusError(res)
		return
	}
	p.verdict <- nil
	_, _ = io.CopyN(io.Discard, res.Body, maxRest)
}

// do sends body and waits for the head of the answer.
func (p *post) do(body []byte) (*nethttp.Response, error) {
	ctx := httptrace.WithClientTrace(p.ctx, &httptrace.ClientTrace{
		GetConn: func(string) { p.looked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { p.found.Store(true) },
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				p.once.Do(func() { close(p.written) })
			}
		},
	})
	r := p.conn.request(ctx, nethttp.MethodPost, p.conn.endpoint, nethttp.Header{"Content-Type": {"application/json"}})
	r.ContentLength = int64(len(body))
	// net/http sends a POST again only if nothing of it went out on the connection before; for that it needs GetBody.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	res, err := p.conn.http.Do(r)
	if err == nil {
		return res, nil
	}
	err = dial.WithoutURL(err)
	if p.conn.life.Err() != nil {
		err = errEnded
	}
	if p.looked.Load() && !p.found.Load() {
		err = notSent(err)
	}
	return nil, fmt.Errorf("posting a message failed: %w", err)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ended returns the error of a context that has ended, with its cause if that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
