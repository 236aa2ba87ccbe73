package ws

import (
	"context"
	"errors"
	nethttp "net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/internal/duplex"
)

// serve serves one client. When it returns, nothing of the connection runs any more, but for a handler that ignores its
// context.
func (s *Server) serve(l *link, r *nethttp.Request) {
	c := &session{link: l}
	l.shared = &s.held
	defer c.Stop() // also if Open panics
	// The request's context ends when ServeHTTP returns or its server's base context ends, not with the connection.
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errShutdown) })()
	h, end := s.o.Open(ctx, r)
	defer func() {
		cancel(nil)
		if end != nil {
			end()
		}
	}()
	if h == nil {
		l.close(websocket.StatusPolicyViolation, "this client is not served")
		return
	}
	_ = duplex.Serve(ctx, c, sink{l}, h, 0, &s.held) // behind a close frame no answer can be sent, so nothing waits for one
}

// session is one client as duplex reads it.
type session struct {
	link *link
	mu   sync.Mutex
	end  error // of Next
}

var (
	_ duplex.Source = (*session)(nil)
	_ duplex.Sink   = sink{}
)

func (c *session) Next() (duplex.Frame, error) {
	f, err := c.link.next()
	if err != nil {
		c.mu.Lock()
		c.end = err
		c.mu.Unlock()
	}
	return f, err
}

// Stop closes with the code that the client deserves, or 1001 if it did nothing wrong.
func (c *session) Stop() bool {
	c.mu.Lock()
	err := c.end
	c.mu.Unlock()
	if err != nil {
		c.link.closeFor(err)
	} else {
		c.link.close(websocket.StatusGoingAway, "")
	}
	return true
}

// sink is one client as duplex writes to it.
type sink struct{ link *link }

func (s sink) Write(b *duplex.Batch) error {
	for m := range b.Messages() {
		if err := s.link.write(m); err != nil {
			s.link.cut(errDeaf)
			return errDeaf
		}
	}
	return nil
}

func (s sink) Stop() bool {
	s.link.cut(errDeaf)
	return true
}

var errDeaf = errors.New("the client takes no more messages")
