package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	deleteTimeout = time.Second
	closeTimeout  = time.Second
)

// errClosed is what a closed connection answers to what it hasn't begun.
var errClosed = errors.New("the connection to the server was closed")

// conn is a Conn and a Handler: requests are taken by Handle, notifications by Send. All methods may be called by many
// goroutines at once.
type conn struct {
	client   nethttp.Client
	release  func() // drops idle connections; nil if the client isn't ours
	template *nethttp.Request
	header   nethttp.Header
	pace     pace

	life      context.Context // of all that runs here; Close ends it
	end       context.CancelFunc
	session   session
	lingers   atomic.Bool  // the server keeps streams open after their answer
	lingering atomic.Int32 // streams that were left open behind their answer
	closing   sync.Once
	inbox     chan received // from the standalone stream to Receive
	listens   atomic.Bool   // a standalone stream was opened
	elsewhere elsewhere

	mu        sync.Mutex
	closed    bool
	running   int
	drained   chan struct{} // closed when closed and running is 0
	unasked   *standalone   // the newest; nil: none was opened
	unaskedIs string        // how it fares
}

var (
	_ transport.Conn = (*conn)(nil)
	_ mcp.Handler    = (*conn)(nil)

	_ transport.Describer = (*conn)(nil)
)

// Send posts a notification or an answer. Any status of success means that the server has it; other statuses come as
// *transport.StatusError, or as transport.ErrSessionExpired. Requests are refused: they go through Handle.
//
// Once the server has taken notifications/initialized of a legacy revision, its standalone stream is opened, for which
// Send waits 250 ms at most. It doesn't fail if there is none; Describe says what became of it.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	if m.IsRequest() {
		return fmt.Errorf("%w: a request over HTTP is answered by Handle", transport.ErrNotSent)
	}
	x, err := c.begin(ctx)
	if err != nil {
		return err
	}
	var mirror mcp.Mirror
	if m.Mirror != nil {
		mirror = *m.Mirror
	} else {
		_, mirror.Revision = c.session.get()
	}
	err = x.tell(m, mirror)
	x.finish()
	if err == nil && m.Method == mcp.NotifyInitialized && mirror.Revision < mcp.Revision20260728 {
		c.session.speaks(mirror.Revision)
		c.listenUnasked(ctx, mirror.Revision)
	}
	return err
}

// Receive returns what the server sends on its standalone stream: requests, which want an answer by Send, and
// notifications. A message that can't be read but names a call or a method comes as *transport.Broken. The stream isn't
// read on until its message is taken. Without such a stream, and when it is lost, Receive blocks until Close and then
// returns io.EOF, or until ctx ends.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	if c.life.Err() != nil {
		return nil, io.EOF
	}
	select {
	case r := <-c.inbox:
		return r.message, r.err
	case <-c.life.Done():
		return nil, io.EOF
	case <-ctx.Done():
		if c.life.Err() != nil {
			return nil, io.EOF
		}
		return nil, context.Cause(ctx)
	}
}

// Close ends all that runs on the connection, tells the server by DELETE that the session is over, if there is one, and
// drops idle connections. It takes at most 2 s, 1 s of them for the DELETE, whose answer doesn't matter. It returns nil.
func (c *conn) Close() error {
	c.closing.Do(c.shut)
	return nil
}

func (c *conn) shut() {
	c.mu.Lock()
	c.closed = true
	if c.running == 0 {
		close(c.drained)
	}
	c.mu.Unlock()
	c.end()
	c.deleteSession()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-c.drained:
	case <-timer.C: // a Peer holds on to a request although its context has ended
	}
	if c.release != nil {
		c.release()
	}
}

func (c *conn) deleteSession() {
	id, revision := c.session.get()
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	h, err := c.headers(mcp.Mirror{Revision: revision}, id)
	if err != nil {
		return
	}
	h.Del("Content-Type")
	r := c.template.WithContext(ctx)
	r.Method, r.Header = nethttp.MethodDelete, h
	res, err := c.client.Do(r)
	if res != nil && err == nil {
		_ = res.Body.Close()
	}
	c.session.drop(id)
}

// enter counts something that runs until leave. It fails once Close was called.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running++
	return true
}

func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.closed {
		close(c.drained)
	}
}
