package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/mcp"
)

// connect runs one dial. The tools are listed and handed on before it counts as done, so that whoever waits for the
// server finds them.
func (s *Server) connect(d *dial) {
	started := time.Now()
	defer close(d.done)
	defer func() {
		s.mu.Lock()
		d.took = time.Since(started)
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(s.ctx, s.o.StartTimeout)
	defer cancel()
	release, err := s.slot(ctx)
	if err != nil {
		s.failed(d, err)
		return
	}
	defer release()

	s.record(event.ServerConnecting{Server: s.o.Name, Transport: s.o.Kind})
	killpoint.At("server.connecting")
	session, err := client.Connect(ctx, s.o.Transport, client.Options{
		Name: s.o.Name, Info: s.o.Info, Era: s.rememberedEra(), OnNotify: s.notified,
	})
	if err != nil {
		s.failed(d, err)
		return
	}
	killpoint.At("server.connected")
	info := session.Info()
	s.record(event.ServerConnected{
		Server: s.o.Name, Transport: s.o.Kind, Era: info.Era.String(), Revision: info.Revision,
		Capabilities: info.Capabilities, ServerInfo: info.ServerInfo, DurationMs: time.Since(started).Milliseconds(),
	})
	s.stale.Store(false)
	s.list(ctx, session)
	killpoint.At("server.listed")
	if !s.up(session, info.Era) {
		_ = session.Close() // the server was closed meanwhile
		s.failed(d, &fault.Error{Kind: fault.Unavailable, Server: s.o.Name, Detail: "it was stopped"})
	}
	if s.stale.Load() {
		s.wakeLister()
	}
}

func (s *Server) slot(ctx context.Context) (release func(), err error) {
	if s.o.Slots == nil {
		return func() {}, nil
	}
	select {
	case s.o.Slots <- struct{}{}:
		return func() { <-s.o.Slots }, nil
	case <-ctx.Done():
		return nil, &fault.Error{Kind: fault.Timeout, Server: s.o.Name, Detail: "other servers were starting all the time", Cause: ctx.Err()}
	}
}

func (s *Server) rememberedEra() mcp.Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// failed ends a dial without a connection. Status reads d.err under the lock.
func (s *Server) failed(d *dial, err error) {
	s.mu.Lock()
	d.err = err
	if s.state != Closed {
		s.state = Down
	}
	s.mu.Unlock()
	s.record(event.ServerUnavailable{Server: s.o.Name, Reason: reason(err)})
}

// reason is what an event says of an error: its detail without the sentence around it.
func reason(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}

// up makes the session the current one and watches it; false if the server was closed meanwhile.
func (s *Server) up(session *client.Session, era mcp.Era) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Closed {
		return false
	}
	s.session, s.state, s.era = session, Up, era
	s.work.Go(func() { s.watch(session) })
	return true
}

// watch notices the session's end. Its tools stay listed: the next call dials again.
func (s *Server) watch(session *client.Session) {
	<-session.Done()
	s.ended(session)
}

// ended takes a session that ended by itself out of use; whoever comes first records it.
func (s *Server) ended(session *client.Session) {
	if !s.drop(session) {
		return
	}
	s.mu.Lock()
	s.crashes++
	attempt := s.crashes
	s.mu.Unlock()
	s.record(event.ServerCrashed{Server: s.o.Name, Attempt: attempt, Error: session.Err().Error(), StderrTail: session.Describe().Stderr})
}

// drop takes a session out of use and closes it; false if it wasn't in use any more.
func (s *Server) drop(session *client.Session) bool {
	s.mu.Lock()
	current := s.session == session
	if current {
		s.session, s.state, s.dial = nil, Down, nil
	}
	s.mu.Unlock()
	if current {
		_ = session.Close()
	}
	return current
}
