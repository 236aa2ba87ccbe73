package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

const (
	listGap  = time.Second      // the least time between two rounds of listing that the server asks for
	listTime = 30 * time.Second // for one list, all pages
)

// lister asks the server what it offers, when the shelf says that it is time (E6).
type lister struct {
	wake  chan struct{} // room for one
	round sync.Mutex    // held from asking for a list to handing it on
}

// allKinds are the lists, the one that matters most first.
var allKinds = [...]catalog.Kind{catalog.Tools, catalog.Prompts, catalog.Resources, catalog.Templates}

// listFirst lists the tools of a new connection, and has the rest listed behind it. A part of a list is better than none,
// but never than the list that was there before. It returns why there is nothing to offer at all.
func (s *Server) listFirst(ctx context.Context, l *link) error {
	s.o.Shelf.Greet(l.session.Info())
	err := s.listOne(ctx, l, catalog.Tools)
	if err != nil && s.o.Shelf.Entry().Tools.Listed.IsZero() {
		return err
	}
	if s.o.Lifecycle.Isolation == lifecycle.PerCall { // there will be no connection later
		for _, k := range allKinds[1:] {
			_ = s.listOne(ctx, l, k)
		}
	}
	s.offered()
	s.wakeLister()
	return nil
}

// listOne lists one kind and puts it on the shelf.
func (s *Server) listOne(ctx context.Context, l *link, k catalog.Kind) error {
	s.lister.round.Lock()
	defer s.lister.round.Unlock()
	limited, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	began, shelf := s.o.Shelf.Begin(), s.o.Shelf
	var err error
	switch k {
	case catalog.Tools:
		all, e := l.session.ListTools(limited)
		if err = e; !cutShort(ctx, e) {
			shelf.SetTools(began, all, e)
		}
	case catalog.Resources:
		all, e := l.session.ListResources(limited)
		if err = e; !cutShort(ctx, e) {
			shelf.SetResources(began, all, e)
		}
	case catalog.Templates:
		all, e := l.session.ListResourceTemplates(limited)
		if err = e; !cutShort(ctx, e) {
			shelf.SetTemplates(began, all, e)
		}
	case catalog.Prompts:
		all, e := l.session.ListPrompts(limited)
		if err = e; !cutShort(ctx, e) {
			shelf.SetPrompts(began, all, e)
		}
	}
	if err != nil && s.ctx.Err() == nil && l.Err() == nil {
		s.record(event.ServerLog{
			Server: s.o.Name, Level: "warning", Logger: "usher", Message: "its list of " + k.String() + " is incomplete: " + reason(err),
		})
	}
	return err
}

// cutShort tells a listing that ended because nobody wanted it any more: its part is no list of the server's.
func cutShort(ctx context.Context, err error) bool { return err != nil && ctx.Err() != nil }

func (s *Server) offered() {
	if s.o.OnOffer != nil {
		s.o.OnOffer()
	}
}

// listWhenDue lists again what is due: after list_changed, where any number of notifications that came meanwhile cost one
// listing, and when a list's time to live has ended.
func (s *Server) listWhenDue() {
	for {
		l := s.main.current()
		timer := time.NewTimer(s.untilDue(l))
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-s.lister.wake:
		case <-timer.C:
		}
		timer.Stop()
		if l = s.main.current(); l == nil {
			continue // a new connection lists anyway
		}
		if s.listDue(l) {
			s.offered()
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(listGap):
		}
	}
}

// listDue asks for the lists whose time has come, and reports whether there were any.
func (s *Server) listDue(l *link) (any bool) {
	for _, k := range allKinds {
		if due, ok := s.o.Shelf.Due(k); ok && !time.Now().Before(due) && l.Err() == nil {
			err := s.listOne(s.ctx, l, k) // it is in the log; the old list stays
			any = true
			if fault.KindOf(err) == fault.SessionExpired { // C6: the next connection lists anew
				s.main.expire(l)
				s.main.Start()
				break
			}
		}
	}
	return any
}

// untilDue is how long nothing has to be listed.
func (s *Server) untilDue(l *link) time.Duration {
	const never = 24 * time.Hour
	wait := time.Duration(never)
	if l == nil {
		return wait
	}
	for _, k := range allKinds {
		if due, ok := s.o.Shelf.Due(k); ok {
			wait = min(wait, time.Until(due))
		}
	}
	return wait
}

func (s *Server) wakeLister() {
	select {
	case s.lister.wake <- struct{}{}:
	default: // a listing is due already
	}
}

// notified hears what a server says outside calls. It must not block.
func (s *Server) notified(m *mcp.Message) {
	switch m.Method {
	case mcp.NotifyTools:
		s.o.Shelf.Changed(catalog.Tools)
		s.wakeLister()
	case mcp.NotifyResources:
		s.o.Shelf.Changed(catalog.Resources, catalog.Templates)
		s.wakeLister()
	case mcp.NotifyPrompts:
		s.o.Shelf.Changed(catalog.Prompts)
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
