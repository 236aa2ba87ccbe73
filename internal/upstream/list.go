package upstream

import (
	"context"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// list asks for the tools and hands them on. What came before a failure is kept; a list of which nothing came changes
// nothing, since a failed list is not an empty one.
func (s *Server) list(ctx context.Context, session *client.Session) {
	tools, err := session.Tools(ctx)
	if err != nil {
		s.record(event.ServerLog{Server: s.o.Name, Level: "warning", Logger: "usher", Message: "its list of tools is incomplete: " + err.Error()})
		if len(tools) == 0 {
			return
		}
	}
	if s.o.OnTools != nil {
		s.o.OnTools(tools)
	}
}

// notified hears what a server says outside calls. It must not block.
func (s *Server) notified(m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyTools:
		s.stale.Store(true)
		s.wakeLister()
	case mcp.NotifyMessage:
		s.record(event.ServerLog{
			Server: s.o.Name, Level: mcp.Text(mcp.Member(m.Params, "level")),
			Logger: mcp.Text(mcp.Member(m.Params, "logger")), Message: cut(string(mcp.Member(m.Params, "data"))),
		})
	}
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
		s.list(ctx, session)
		cancel()
	}
}

func cut(s string) string { return s[:min(len(s), 512)] }
