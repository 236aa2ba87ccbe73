// Package transport says what a way to an MCP server must do. The ways themselves lie beside it: transport/stdio,
// transport/http, transport/local; each has its server end next to its client end.
//
// A transport moves messages. It knows no eras and no permissions, it sends no message and starts no process a second
// time, and it opens a lost connection again only where the protocol lets it ask for what is left of an answer.
package transport

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// A Transport opens connections to one server. Nothing above it knows which way it holds. It may be used by many
// goroutines at once; each Connect is a connection of its own (for stdio: a process of its own).
type Transport interface {
	// Connect opens a connection. ctx bounds the opening only, not the life of the Conn.
	Connect(ctx context.Context) (Conn, error)
}

// A Conn carries JSON-RPC messages in order. Send may be called by many goroutines at once, Receive by one.
//
// A Conn that is also an mcp.Handler (http, local) takes requests there; Receive then yields only what the server
// sends without being asked, and may block until Close.
type Conn interface {
	// Send hands m over. An error that wraps ErrNotSent says that no byte of it left.
	Send(ctx context.Context, m *mcp.Message) error
	// Receive returns the next message, io.EOF after an orderly end, or the error that ended the connection; then
	// always the same. A message that breaks the rules but names a call comes as *Broken and ends nothing.
	Receive(ctx context.Context) (*mcp.Message, error)
	// Close ends the connection and all that it started. It is bounded, idempotent, and makes Receive return.
	Close() error
}

// ErrNotSent says that no byte of a message left: the only failure after which sending again is always safe.
var ErrNotSent = errors.New("nothing was sent")

// ErrSessionExpired says that the server no longer knows the session of this connection, and so ran nothing.
var ErrSessionExpired = errors.New("the server has ended the session")

// Broken is an incoming message that names a call but can't be trusted or kept: too long, a duplicate key, invalid
// UTF-8, too deep. The call it names has failed; the connection goes on.
type Broken struct {
	Message *mcp.Message // what could be told of it: ID or Method
	Reason  error
}

// Error says what was wrong with the message.
func (b *Broken) Error() string {
	return "the server sent a message that can't be read: " + b.Reason.Error()
}

// Unwrap returns Reason.
func (b *Broken) Unwrap() error { return b.Reason }

// A Describer is a Conn that can say how its server fares. Fields that a transport doesn't have are zero.
type Describer interface{ Describe() Description }

// Description is what an operator wants to know of a connection.
type Description struct {
	PID         int    // of the child process
	Exit        string // how it ended, such as "exit status 1"; empty while it runs
	ExitCode    int    // its exit status, if it ended by itself
	Signal      string // what killed it, such as "SIGKILL"; empty if nothing did
	Stderr      string // the last lines that it wrote there
	StrayLines  int    // lines on stdout that were no messages
	StraySample string // the first of them, cut
	Stream      string // how the stream of unasked messages fares: "open", or why not; empty if none was opened
}

// A StatusError is an HTTP answer that is no MCP answer.
type StatusError struct {
	Status     int           // HTTP status
	Body       []byte        // its first bytes, at most 64 KiB
	RetryAfter time.Duration // how long the server wants to be left alone, at most an hour; 0: it doesn't say
}

// Error names the status.
func (e *StatusError) Error() string {
	return "the server answered with HTTP status " + strconv.Itoa(e.Status)
}
