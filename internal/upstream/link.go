package upstream

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
)

// link is one connection to the server, shaken hands on.
type link struct {
	session *client.Session
	pid     int           // of the child process; 0: it is none
	served  atomic.Bool   // it has answered a call
	errors  atomic.Int32  // network errors of calls in a row
	woke    atomic.Uint64 // up to which wake-up it is known to live
	asking  chan struct{} // a token: who holds it finds that out

	counted chan struct{} // closed when its loss is
	nth     int           // which failure in a row its loss was; 0: it was closed on purpose
}

func newLink(session *client.Session, woke uint64) *link {
	l := &link{session: session, pid: session.Describe().PID, counted: make(chan struct{}), asking: make(chan struct{}, 1)}
	l.woke.Store(woke)
	return l
}

// Err says why the connection has ended; nil while it lives.
func (l *link) Err() error { return l.session.Err() }

// Ping asks whether the server still answers.
func (l *link) Ping(ctx context.Context) error { return l.session.Ping(ctx) }

// Close ends the connection.
func (l *link) Close() error { return l.session.Close() }

// isNetwork tells the failures of a call that speak of the way to the server.
func isNetwork(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Restarted, fault.Timeout:
		return !errors.Is(err, context.Canceled)
	}
	return false
}
