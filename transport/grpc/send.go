package grpc

import (
	"context"
	"errors"
	"io"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/grpc/mcpv1"
)

// letter is a message on its way to the stream.
type letter struct {
	frame mcpv1.Frame
	done  chan error // has room
}

// Send waits while the server is slow to read. If ctx ends before it was m's turn, the error wraps
// transport.ErrNotSent; if it ends while m is handed to the stream, it doesn't, and m may still go out. Neither ends the
// connection.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	if err := context.Cause(ctx); err != nil {
		return notSent(err)
	}
	if len(m.Params)+len(m.Result)+len(m.Error) > mcp.MaxMessage {
		return notSent(duplex.ErrTooLong)
	}
	l := &letter{done: make(chan error, 1)}
	l.frame.Json = m.AppendTo(make([]byte, 0, m.Size()))
	if len(l.frame.Json) > mcp.MaxMessage {
		return notSent(duplex.ErrTooLong)
	}
	select {
	case <-c.closing: // else a race with write, which may still take it
		return notSent(errClosed)
	default:
	}
	select {
	case c.out <- l:
	case <-c.closing:
		return notSent(errClosed)
	case <-c.in.done:
		return notSent(c.gone())
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	}
	select {
	case err := <-l.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gone says why nothing can be sent any more.
func (c *conn) gone() error {
	if err := c.ending(); !errors.Is(err, io.EOF) {
		return err
	}
	return errors.New("the server has ended the session")
}

// write hands letters to the stream, one by one as gRPC wants it, and half-closes it in the end.
func (c *conn) write() {
	defer close(c.written)
	for {
		select {
		case l := <-c.out:
			l.done <- c.put(l)
		case <-c.in.done:
			return
		case <-c.closing:
			_ = c.stream.CloseSend()
			return
		}
	}
}

// put waits for room in the stream's window. gRPC takes a message as a whole or, with an error, nothing of it; the error
// is then io.EOF, and the reason is what the reading side gets.
func (c *conn) put(l *letter) error {
	if c.stream.Send(&l.frame) == nil {
		return nil
	}
	select {
	case <-c.in.done:
		return notSent(c.gone())
	default: // the pump still holds a frame, and behind it the reason
		return notSent(errors.New("the session has ended"))
	}
}
