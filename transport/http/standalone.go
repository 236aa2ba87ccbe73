package http

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/usher-mcp/usher/internal/eventstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// openWait is how long a client that has shaken hands waits for the standalone stream before it goes on. Many servers
// drop what they have to say while it isn't open.
const openWait = 250 * time.Millisecond

// received is what Receive returns: a message or a *transport.Broken.
type received struct {
	message *mcp.Message
	err     error
}

// standalone reads what a legacy server sends without being asked (2025-11-25, "Listening for Messages from the
// Server"). It is a convenience that a server may not have: whatever befalls it, the connection goes on.
type standalone struct {
	conn              *conn
	ctx               context.Context
	stop              context.CancelFunc
	session, revision string
	track             track
	answered          func() // the server has answered the first GET, or can't be reached
}

// listenUnasked opens the standalone stream, and goes on with it in the background if that takes longer than openWait.
// An older one, of a handshake before, ends.
func (c *conn) listenUnasked(ctx context.Context, revision string) {
	answered := make(chan struct{})
	s := &standalone{conn: c, revision: revision, answered: sync.OnceFunc(func() { close(answered) })}
	s.session, _ = c.session.get()
	s.ctx, s.stop = context.WithCancel(c.life)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		s.stop()
		return
	}
	c.running++
	old := c.unasked
	c.unasked, c.unaskedIs = s, "opening"
	c.mu.Unlock()
	c.listens.Store(true)
	if old != nil {
		old.stop()
	}
	go s.run()
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

func (s *standalone) run() {
	defer s.conn.leave()
	defer s.stop()
	for {
		err := s.once()
		_, never := errors.AsType[*noStream](err)
		switch {
		case s.ctx.Err() != nil:
			return
		case never:
			s.report("none: " + err.Error())
			return
		case s.track.idle >= s.conn.pace.reopens:
			s.report("given up: " + err.Error())
			return
		}
		s.report("lost: " + err.Error())
		p := s.conn.pace
		wait := max(laterOf(p.backoff(s.track.retry, s.track.idle), err), p.floor(p.least, s.track.brief))
		s.track.idle++
		if !sleep(s.ctx, wait) {
			return
		}
	}
}

// once opens the stream and reads it to its end, which it returns.
func (s *standalone) once() error {
	lastID := ""
	if s.track.resumable() {
		lastID = s.track.lastID
	}
	res, err := s.conn.listen(s.ctx, s.session, s.revision, lastID)
	if err != nil {
		s.answered()
		if _, never := errors.AsType[*noStream](err); never && lastID != "" { // it may have forgotten the event alone
			s.track.lastID = ""
			return &notNow{reason: err.Error()}
		}
		return err
	}
	defer res.Body.Close()
	s.report("open")
	s.answered()
	stream := s.track.open(res.Body)
	defer stream.Close()
	for {
		e, err := s.track.next(stream)
		switch {
		case errors.Is(err, errEventTooLarge): // it would come again
			return &noStream{err.Error()}
		case err == io.EOF:
			return errors.New("the server closed the stream")
		case err != nil:
			return err
		}
		s.deliver(e)
	}
}

// deliver waits until Receive takes the message, unless it answers a request that waits for it. What names neither a
// request nor a method is read over.
func (s *standalone) deliver(e eventstream.Event) {
	if e.Name != "" && e.Name != "message" {
		return
	}
	m, err := mcp.Parse(e.Data)
	r := received{message: m}
	if err != nil {
		if m == nil || m.ID == "" && m.Method == "" {
			return
		}
		r = received{err: &transport.Broken{Message: m, Reason: err}}
	}
	if m.IsAnswer() && s.conn.elsewhere.give(m.ID, r) {
		return
	}
	select {
	case s.conn.inbox <- r:
	case <-s.ctx.Done():
	}
}

// report says how the stream is, unless a newer one has taken its place.
func (s *standalone) report(is string) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.conn.unasked == s {
		s.conn.unaskedIs = is
	}
}

// Describe says how the standalone stream is; a connection over HTTP knows nothing else of its server.
func (c *conn) Describe() transport.Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	return transport.Description{Stream: c.unaskedIs}
}
