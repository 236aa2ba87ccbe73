package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/mcp"
)

// slotTime is how long a server that starts keeps others of its kind waiting; a slow one goes on without its slot.
const slotTime = 5 * time.Second

// connect runs one dial. The tools are listed and handed on before it counts as done, so that whoever waits for the
// server finds them.
func (s *Server) connect(d *dial) {
	defer close(d.done)
	release, err := s.slot()
	if err != nil {
		s.failed(d, err)
		return
	}
	defer release()
	started := time.Now()
	defer func() {
		s.mu.Lock()
		d.took = time.Since(started)
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(s.ctx, s.o.StartTimeout)
	defer cancel()
	s.record(event.ServerConnecting{Server: s.o.Name, Transport: s.o.Kind})
	killpoint.At("server.connecting")
	session, err := client.Connect(ctx, s.o.Transport, client.Options{
		Name: s.o.Name, Info: s.o.Info, Era: s.rememberedEra(), OnNotify: s.notified, Redact: s.o.Redact,
		Fallback: s.o.Fallback, Listen: client.Listen{Tools: true},
	})
	if err != nil {
		s.learned(d, client.Info{Steps: client.Steps(err)})
		s.failed(d, err)
		return
	}
	killpoint.At("server.connected")
	s.greet(ctx, session, d, time.Since(started))
}

// greet lists the tools of a server that has answered, and takes it into use. One that could never be listed is no use;
// one that was keeps its old list.
func (s *Server) greet(ctx context.Context, session *client.Session, d *dial, took time.Duration) {
	info := session.Info()
	s.record(event.ServerConnected{
		Server: s.o.Name, Transport: s.o.Kind, Era: info.Era.String(), Revision: info.Revision,
		Capabilities: bounded(info.Capabilities), ServerInfo: bounded(info.ServerInfo), DurationMs: took.Milliseconds(),
	})
	s.stale.Store(false)
	listing := time.Now()
	err := s.list(ctx, session)
	if mcp.Member(info.Capabilities, "tools") != nil { // else nobody was asked
		info.Steps = append(slices.Clip(info.Steps), client.Step{What: mcp.MethodListTools, Took: time.Since(listing), Result: outcome(err)})
	}
	s.learned(d, info)
	killpoint.At("server.listed")
	switch {
	case err != nil && !s.everListed():
	case s.up(session, info.Era):
		if s.stale.Load() {
			s.wakeLister()
		}
		return
	default: // it was closed meanwhile
		err = &fault.Error{Kind: fault.Unavailable, Server: s.o.Name, Detail: "it was stopped"}
	}
	_ = session.Close()
	s.failed(d, err)
}

// learned keeps what a dial found out, for Status.
func (s *Server) learned(d *dial, info client.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.info = info
}

// outcome is the result of a step.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return reason(err)
}

// bounded leaves out what would be too much for an event.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) > 8<<10 {
		return nil
	}
	return raw
}

// slot waits until the server may start. Its own time to start begins after that.
func (s *Server) slot() (release func(), err error) {
	if s.o.Slots == nil {
		return func() {}, nil
	}
	select {
	case s.o.Slots <- struct{}{}:
		var once sync.Once
		free := func() { once.Do(func() { <-s.o.Slots }) }
		timer := time.AfterFunc(slotTime, free)
		return func() { timer.Stop(); free() }, nil
	case <-s.ctx.Done():
		return nil, &fault.Error{Kind: fault.Unavailable, Server: s.o.Name, Detail: "it was stopped", Cause: s.ctx.Err()}
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
