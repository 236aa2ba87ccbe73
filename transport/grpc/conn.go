package grpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	gogrpc "google.golang.org/grpc"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// closeGrace is how long Close waits for the server to end the session by itself, once it was told. What was sent just
// before, such as a cancellation, gets there meanwhile.
const closeGrace = 100 * time.Millisecond

var errClosed = errors.New("the connection is closed")

// conn is one session on a socket of its own. Two goroutines, of the pump and of write, serve its stream, because gRPC
// can't be told to give up reading or writing one message.
type conn struct {
	t      *client
	cc     *gogrpc.ClientConn
	stream mcpv1.Mcp_SessionClient
	cancel context.CancelFunc // of the stream

	in      *pump
	out     chan *letter
	written chan struct{} // write has ended
	closing chan struct{} // closed by Close
	once    sync.Once
	strays  strays

	end error // Receive's alone
}

var (
	_ transport.Conn      = (*conn)(nil)
	_ transport.Describer = (*conn)(nil)
)

func newConn(t *client, cc *gogrpc.ClientConn, stream mcpv1.Mcp_SessionClient, cancel context.CancelFunc) *conn {
	c := &conn{
		t: t, cc: cc, stream: stream, cancel: cancel, in: newPump(),
		out: make(chan *letter), written: make(chan struct{}), closing: make(chan struct{}),
	}
	go c.in.run(stream.Recv, c.closing)
	go c.write()
	return c
}

// Receive returns the next message. It returns io.EOF when the server has ended the session with OK, and after Close;
// a *transport.StatusError with 401 or 403 when the credentials no longer count.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	for c.end == nil {
		select {
		case <-c.closing:
			c.end = io.EOF
			continue
		default:
		}
		select {
		case f := <-c.in.frames:
			switch {
			case f.Reason == nil:
				return f.Message, nil
			case f.Message != nil && f.Message.ID != "":
				return nil, &transport.Broken{Message: f.Message, Reason: f.Reason}
			}
			c.strays.add(f.Raw, c.t)
		case <-c.in.done:
			c.end = c.ending()
		case <-c.closing:
			c.end = io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, c.end
}

// ending says how the stream ended, once it has.
func (c *conn) ending() error {
	select {
	case <-c.closing:
		return io.EOF
	default:
		return c.t.lost(c.in.err)
	}
}

// Close tells the server, which has 100 ms to end the session, then ends the stream and the socket.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closing)
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-c.in.done:
		case <-timer.C:
		}
		c.cancel()
		_ = c.cc.Close()
	})
	<-c.in.done
	<-c.written
	return nil
}

// Describe counts frames that were no messages.
func (c *conn) Describe() transport.Description {
	n, first := c.strays.seen()
	return transport.Description{StrayLines: n, StraySample: first}
}

const (
	sampleSize = 200     // characters of a frame that is no message
	redactSize = 8 << 10 // bytes of it that are looked at for secrets
)

// strays counts what a server sends that is no message.
type strays struct {
	mu    sync.Mutex
	total int
	first string
}

func (s *strays) add(raw []byte, t *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total++; s.total == 1 {
		s.first = t.show(string(raw[:min(len(raw), redactSize)]), sampleSize)
	}
}

func (s *strays) seen() (total int, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.first
}
