package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// list asks for the tools and hands them on. A part of a list is better than none, but never than the list that was
// there before: a failed listing is not an empty one. It returns why nothing could be handed on.
func (s *Server) list(ctx context.Context, session *client.Session) error {
	s.listing.Lock()
	defer s.listing.Unlock()
	tools, err := session.Tools(ctx)
	if err != nil && s.ctx.Err() != nil {
		return err // the server is being closed
	}
	if err != nil {
		s.record(event.ServerLog{Server: s.o.Name, Level: "warning", Logger: "usher", Message: "its list of tools is incomplete: " + reason(err)})
		if len(tools) == 0 || s.listed {
			return err
		}
	}
	if s.o.OnTools != nil {
		s.o.OnTools(tools)
	}
	s.listed = true
	return nil
}

// notified hears what a server says outside calls. It must not block.
func (s *Server) notified(m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyTools:
		s.stale.Store(true)
		s.wakeLister()
	case mcp.NotifyMessage:
		if !s.logs.admit(time.Now()) {
			return
		}
		s.record(event.ServerLog{
			Server: s.o.Name, Level: s.say(mcp.Text(mcp.Member(m.Params, "level")), 32),
			Logger: s.say(mcp.Text(mcp.Member(m.Params, "logger")), 128), Message: s.say(string(mcp.Member(m.Params, "data")), 512),
		})
	}
}

// say is what an event shows of a server's own words.
func (s *Server) say(text string, limit int) string {
	text = text[:min(len(text), 8<<10)]
	return mcp.Cut(string(s.o.Redact([]byte(text))), limit)
}

// logLimit lets a server's log messages into ours, at most perSecond of them.
type logLimit struct {
	mu     sync.Mutex
	second int64
	count  int
}

const perSecond = 20

func (l *logLimit) admit(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Unix() != l.second {
		l.second, l.count = now.Unix(), 0
	}
	l.count++
	return l.count <= perSecond
}

func (s *Server) wakeLister() {
	select {
	case s.relist <- struct{}{}:
	default: // a listing is due already
	}
}

// listWhenTold lists again after list_changed: any number of notifications that came meanwhile cost one listing.
func (s *Server) listWhenTold() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.relist:
		}
		s.mu.Lock()
		session := s.session
		s.mu.Unlock()
		if session == nil {
			continue // stale stays set: connect wakes us when the server is up
		}
		s.stale.Store(false)
		ctx, cancel := context.WithTimeout(s.ctx, s.o.StartTimeout)
		_ = s.list(ctx, session) // it is in the log; the old list stays
		cancel()
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(listGap):
		}
	}
}

// listGap is the least time between two listings that the server asks for.
const listGap = time.Second

// everListed reports whether there is a list to fall back on.
func (s *Server) everListed() bool {
	s.listing.Lock()
	defer s.listing.Unlock()
	return s.listed
}
