package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// maxKept bounds the buffers that are kept for later, in bytes.
const maxKept = 1 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Send writes m as one line with one write. If ctx ends while the pipe is full and nothing of m was taken, the error
// wraps transport.ErrNotSent. If a part of m was taken, no other message could follow it: the connection is closed.
// Who waits for other senders gives up with ctx, too.
func (c *conn) Send(ctx context.Context, m *mcp.Message) error {
	if err := context.Cause(ctx); err != nil {
		return notSent(err)
	}
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxKept {
			buffers.Put(buf)
		}
	}()
	*buf = append(m.AppendTo((*buf)[:0]), '\n')
	if len(*buf) > mcp.MaxMessage {
		return notSent(duplex.ErrTooLong)
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	}
	defer func() { <-c.turn }()
	return c.write(ctx, *buf)
}

// write is called by who has the turn.
func (c *conn) write(ctx context.Context, line []byte) error {
	if c.closed.Load() {
		return notSent(errors.New("the connection is closed"))
	}
	if broken := c.broken.Load(); broken != nil {
		return notSent(broken)
	}
	stdin := c.proc.Stdin()
	n, err := c.now.write(line), error(nil)
	if n < len(line) {
		release := interrupt(ctx, writeDeadline(stdin))
		var more int
		more, err = stdin.Write(line[n:])
		release()
		n += more
	}
	if err == nil {
		return nil
	}
	late := isDeadline(err)
	if late {
		err = context.Cause(ctx)
	}
	if !late {
		c.deaf.Do(func() { go c.endDeaf(err) })
	}
	switch {
	case n == 0:
		return notSent(err)
	case !late:
		return fmt.Errorf("the server took only a part of a message: %w", err)
	}
	broken := &brokenError{fmt.Errorf("it took only a part of a message: %w", err)}
	c.broken.Store(broken)
	go c.proc.Stop() // bounded; Close and Receive wait for it
	return broken
}

// lastWords is how long a server that has closed its input may go on, to say what it has to say and to exit.
const lastWords = time.Second

// endDeaf ends a server that reads no more: every further message would fail, and nobody would start it anew.
func (c *conn) endDeaf(cause error) {
	if within(c.proc.Done(), lastWords) {
		return
	}
	c.broken.CompareAndSwap(nil, &brokenError{fmt.Errorf("it doesn't read its input any more: %w", cause)})
	c.proc.Stop()
}

// writer writes what a pipe takes without waiting, which is nearly always all. Only the rest needs to be interruptible.
type writer struct {
	raw  syscall.RawConn // nil: nothing is known of the stream
	line []byte
	n    int
	err  error
	try  func(fd uintptr) bool
}

func newWriter(stream any) writer {
	s, ok := stream.(syscall.Conn)
	if !ok {
		return writer{}
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return writer{} // Write tells why
	}
	return writer{raw: raw}
}

func (w *writer) write(line []byte) int {
	if w.raw == nil {
		return 0
	}
	if w.try == nil {
		w.try = func(fd uintptr) bool {
			w.n, w.err = syscall.Write(int(fd), w.line)
			return true
		}
	}
	w.line = line
	err := w.raw.Write(w.try)
	if w.line = nil; err != nil || w.err != nil {
		return 0
	}
	return w.n
}

// brokenError is how a connection ends that can't be written to any more.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "the server was ended: " + e.cause.Error() }

func (e *brokenError) Unwrap() error { return e.cause }

func notSent(cause error) error { return fmt.Errorf("%w: %w", transport.ErrNotSent, cause) }
