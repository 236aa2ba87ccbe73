package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

const (
	// exitGrace is how long a server that has closed stdout may take to exit before it is stopped.
	exitGrace = 200 * time.Millisecond
	// tailSize bounds what is shown of standard error, in bytes.
	tailSize = 4 << 10
)

// conn is one child process.
type conn struct {
	proc   *sandbox.Process
	stderr *sandbox.Ring
	turn   chan struct{} // held while writing
	now    writer        // with the turn
	closed atomic.Bool   // by Close
	broken atomic.Pointer[brokenError]
	deaf   sync.Once // its input turned out to be closed
	strays strays

	// Receive's alone.
	in      *frames
	end     error
	armed   context.Context // whose end ends the read under way
	release func()
}

var (
	_ transport.Conn      = (*conn)(nil)
	_ transport.Describer = (*conn)(nil)
)

// Receive reads the next message. When the process has ended it returns io.EOF for exit status 0 or after Close, else
// an *ExitError; by then the whole tree of the process is gone.
func (c *conn) Receive(ctx context.Context) (*mcp.Message, error) {
	for c.end == nil {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if c.closed.Load() {
			c.end = c.finish(io.EOF)
			break
		}
		f, err := c.read(ctx)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil && isDeadline(err) {
				return nil, cause
			}
			c.end = c.finish(err)
			break
		}
		switch {
		case f.Reason != nil && f.Message != nil && f.Message.ID != "":
			return nil, &transport.Broken{Message: &mcp.Message{ID: f.Message.ID, Method: f.Message.Method}, Reason: f.Reason}
		case f.Reason != nil:
			c.strays.add(f.Raw)
		case f.Message != nil:
			return f.Message, nil
		}
	}
	return nil, c.end
}

func (c *conn) read(ctx context.Context) (duplex.Frame, error) {
	if c.in.ready() {
		return c.in.next()
	}
	if c.armed != ctx { // Receive is mostly called with one context for the life of the Conn
		c.disarm()
		c.armed, c.release = ctx, interrupt(ctx, readDeadline(c.proc.Stdout()))
	}
	return c.in.next()
}

// disarm lets go of the context that ends reads.
func (c *conn) disarm() {
	if c.armed != nil {
		c.release()
		c.armed, c.release = nil, nil
	}
}

// finish ends the process, if it still runs, and says how it ended.
func (c *conn) finish(readErr error) error {
	c.disarm()
	if !c.closed.Load() && c.broken.Load() == nil {
		within(c.proc.Done(), exitGrace)
	}
	c.proc.Stop()
	c.strays.flush()
	exit := c.proc.Exit()
	broken := c.broken.Load()
	switch {
	case c.closed.Load():
		return io.EOF
	case broken != nil:
		return broken
	case exit.Err == nil && exit.Signal == 0 && exit.Code == 0 && readErr == io.EOF:
		return io.EOF
	}
	e := &ExitError{Exit: exit.String(), Code: exit.Code, Signal: exit.SignalName(), Stderr: c.tail()}
	if readErr != io.EOF {
		e.Cause = readErr
	}
	return e
}

// Close closes the child's stdin and ends its tree, see sandbox.Process.Stop. A Send under way fails.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.proc.Stop()
	return nil
}

// Describe may be called at any time, also after Close.
func (c *conn) Describe() transport.Description {
	d := transport.Description{PID: c.proc.Pid(), Stderr: c.tail()}
	if exit := c.proc.Exit(); !errors.Is(exit.Err, sandbox.ErrRunning) {
		d.Exit, d.ExitCode, d.Signal = exit.String(), exit.Code, exit.SignalName()
	}
	d.StrayLines, d.StraySample = c.strays.seen()
	return d
}

// tail is what is shown of standard error. Secrets go before it is cut.
func (c *conn) tail() string {
	all := c.strays.redact([]byte(c.stderr.Tail(2 * tailSize)))
	if cut := len(all) - tailSize; cut > 0 {
		all = all[cut:]
		all = all[bytes.IndexByte(all, '\n')+1:]
	}
	return printable(string(all), "\n\t")
}

// ExitError says how a server ended that was not asked to.
type ExitError struct {
	Exit   string // such as "exit status 1" or "killed by SIGKILL"
	Code   int    // the exit status; -1 if there is none
	Signal string // such as "SIGKILL"; empty if none ended it
	Stderr string // its last lines there, at most 4 KiB, redacted and made printable
	Cause  error  // why its output could not be read to the end; usually nil
}

// Error tells both.
func (e *ExitError) Error() string {
	s := "the server ended: " + e.Exit
	if e.Cause != nil {
		s += "; " + e.Cause.Error()
	}
	if words := strings.TrimSpace(e.Stderr); words != "" {
		s += "; its last words: " + words
	}
	return s
}

// Unwrap returns Cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// Describe tells what is left of a server that ended before anyone could ask its Conn.
func (e *ExitError) Describe() transport.Description {
	return transport.Description{Exit: e.Exit, ExitCode: e.Code, Signal: e.Signal, Stderr: e.Stderr}
}

// within waits for c, but not longer than limit.
func within(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
