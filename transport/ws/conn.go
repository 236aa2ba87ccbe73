package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	// sendGrace is how long a message that is being written may still take when its context has ended: a part of it may
	// be gone, and then no other could follow.
	sendGrace = 250 * time.Millisecond
	// maxKept bounds the buffer that is kept for later, in bytes.
	maxKept = 1 << 20
)

var errClosed = errors.New("the connection to the server was closed")

// conn is the client end of one WebSocket.
type conn struct {
	link    *link
	in      chan duplex.Frame // from receive to Receive
	strays  atomic.Int64
	closing chan struct{} // closed by Close
	once    sync.Once
	done    chan struct{} // receive has ended
	end     error         // how; read after done

	turn chan struct{} // held while writing
	buf  []byte        // of who has the turn
}

var (
	_ transport.Conn      = (*conn)(nil)
	_ transport.Describer = (*conn)(nil)
)

// newConn takes over c, which has w below it.
func newConn(c *websocket.Conn, w *wire, t Timing) *conn {
	n := &conn{
		link:    newLink(c, w, "the server", t),
		in:      make(chan duplex.Frame),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		turn:    make(chan struct{}, 1),
	}
	go n.receive()
	return n
}

// receive reads until the connection ends. It has a goroutine of its own, so that pings are answered and the end is
// noticed while nobody receives.
func (c *conn) receive() {
	defer close(c.done)
	for {
		f, err := c.link.next()
		switch {
		case err != nil:
			c.link.closeFor(err)
			c.end = err
			if c.isClosing() {
				c.end = io.EOF
			}
			return
		case f.Reason != nil && (f.Message == nil || f.Message.ID == ""):
			c.strays.Add(1)
		case f.Message != nil:
			select {
			case c.in <- f:
			case <-c.closing:
			}
		}
	}
}

func (c *conn) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// Receive returns io.EOF after Close and after a close frame with code 1000, 1001 or none; other codes make an error
// that names code and reason. What is no message and names no call is skipped and counted.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	select {
	case f := <-c.in:
		if f.Reason != nil {
			return nil, &transport.Broken{Message: &mcp.Message{ID: f.Message.ID, Method: f.Message.Method}, Reason: f.Reason}
		}
		return f.Message, nil
	case <-c.done:
		return nil, c.end
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Send writes m as one text message. If ctx ends while it is being written, it has 250 ms more; then the connection is
// ended, since no message can follow half a one. Who waits for other senders gives up with ctx, too.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	if err := context.Cause(ctx); err != nil {
		return notSent(err)
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	case <-c.done:
		return notSent(c.gone())
	}
	defer func() { <-c.turn }()
	if c.isClosing() {
		return notSent(errClosed)
	}
	c.buf = m.AppendTo(c.buf[:0])
	defer func() {
		if cap(c.buf) > maxKept {
			c.buf = nil
		}
	}()
	if len(c.buf) > mcp.MaxMessage {
		return notSent(duplex.ErrTooLong)
	}
	return c.write(ctx)
}

// write is called by who has the turn.
func (c *conn) write(ctx context.Context) error {
	before := c.link.wire.wrote.Load()
	release := c.interrupt(ctx)
	err := c.link.write(c.buf)
	release()
	if err == nil {
		return nil
	}
	err = c.why(err)
	if c.link.wire.wrote.Load() == before {
		return notSent(err)
	}
	err = fmt.Errorf("the server took only a part of a message: %w", err)
	c.link.cut(err)
	return err
}

// interrupt makes the end of ctx end a write under way. The function it returns must be called when the write is over.
func (c *conn) interrupt(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(sendGrace)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			c.link.cut(fmt.Errorf("the server took only a part of a message, so the connection was ended: %w", context.Cause(ctx)))
		}
	})
	return func() {
		stop()
		close(over)
	}
}

// why is the better reason for a write that failed: mostly the connection has ended for a reason of its own.
func (c *conn) why(err error) error {
	if cause := c.link.wasCut(); cause != nil {
		return cause
	}
	if c.isClosing() {
		return errClosed
	}
	select {
	case <-c.done:
		return c.gone()
	default:
	}
	return errors.New(shown(err.Error()))
}

// gone is for after done.
func (c *conn) gone() error {
	if c.end == io.EOF {
		return errClosed
	}
	return c.end
}

// Close says 1000 to the server and waits up to 1 s for its answer. It returns nil.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closing) })
	c.link.close(websocket.StatusNormalClosure, "")
	<-c.done
	return nil
}

// Describe says how many messages were none.
func (c *conn) Describe() transport.Description {
	return transport.Description{StrayLines: int(c.strays.Load())}
}

func notSent(cause error) error { return fmt.Errorf("%w: %w", transport.ErrNotSent, cause) }
