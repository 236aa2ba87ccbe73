package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

// slotTime is how long a server that starts keeps others of its kind waiting; a slow one goes on without its slot (C8).
const slotTime = 5 * time.Second

// openMain makes the main connection. The tools are listed and handed on before it counts as done, so that whoever
// waits for the server finds them.
func (s *Server) openMain(ctx context.Context) (*link, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	started := time.Now()
	l, info, err := s.shakeHands(ctx, s.listening(), nil)
	took := time.Since(started)
	if err == nil {
		err = s.greet(ctx, l, &info, took)
	}
	if s.guard.dialed(err); err == nil {
		s.guard.reached()
	}
	s.mu.Lock()
	s.last = dialled{err, time.Since(started), info}
	if err == nil {
		s.era = info.Era
	}
	s.mu.Unlock()
	return l, err
}

// openMore makes one more connection to a server that is up, for calls only.
func (s *Server) openMore(ctx context.Context) (*link, error) {
	main, err := s.main.need(ctx)
	if err != nil {
		return nil, err
	}
	l, _, err := s.shakeHands(ctx, client.Listen{}, main.session)
	if size, _, _ := s.pool.stats(); size == 0 { // else the server is there, and only wants no more connections
		s.guard.dialed(err)
	}
	return l, err
}

// shakeHands connects once, within the time for it. The Info has steps also where it fails.
func (s *Server) shakeHands(ctx context.Context, listen client.Listen, toolsOf *client.Session) (*link, client.Info, error) {
	limit := s.connectTime()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.record(event.ServerConnecting{Server: s.o.Name, Transport: s.o.Kind})
	killpoint.At("server.connecting")
	woke := s.o.Woke()
	session, err := client.Connect(limited, s.o.Transport, client.Options{
		Name: s.o.Name, Info: s.o.Info, Era: s.rememberedEra(), OnNotify: s.notified, Redact: s.o.Redact,
		Fallback: s.o.Fallback, Listen: listen, ToolsOf: toolsOf,
	})
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = s.tooSlow(err, limit)
		}
		return nil, client.Info{Steps: client.Steps(err)}, err
	}
	killpoint.At("server.connected")
	return newLink(session, woke), session.Info(), nil
}

func (s *Server) tooSlow(err error, limit time.Duration) error {
	e := *fault.Of(err)
	e.Detail = "it didn't answer within " + spell(limit)
	if e.Hint == "" {
		e.Hint = `If it needs longer to start, write "startTimeout" into its entry`
	}
	return &e
}

// connectTime is longer until the server has been up once: its package may have to be installed (C8).
func (s *Server) connectTime() time.Duration {
	s.main.mu.Lock()
	defer s.main.mu.Unlock()
	if s.main.up {
		return s.o.Lifecycle.Connect
	}
	return s.o.Lifecycle.FirstConnect
}

func (s *Server) listening() client.Listen {
	on := s.o.Lifecycle.Subscribe && s.o.Lifecycle.Isolation != lifecycle.PerCall
	return client.Listen{Tools: on, Prompts: on, Resources: on}
}

// greet lists the tools of a server that has answered. One that could never be listed is no use; one that was keeps its
// old list.
func (s *Server) greet(ctx context.Context, l *link, info *client.Info, took time.Duration) error {
	s.record(event.ServerConnected{
		Server: s.o.Name, Transport: s.o.Kind, Era: info.Era.String(), Revision: info.Revision,
		Capabilities: bounded(info.Capabilities), ServerInfo: bounded(info.ServerInfo), DurationMs: took.Milliseconds(),
	})
	listing := time.Now()
	err := s.listFirst(ctx, l)
	if mcp.Member(info.Capabilities, "tools") != nil { // else nobody was asked
		info.Steps = append(slices.Clip(info.Steps), client.Step{What: mcp.MethodListTools, Took: time.Since(listing), Result: outcome(err)})
	}
	killpoint.At("server.listed")
	if err != nil {
		_ = l.Close()
	}
	return err
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
func (s *Server) slot(ctx context.Context) (release func(), err error) {
	if s.o.Slots == nil {
		return func() {}, nil
	}
	if s.reserved.CompareAndSwap(true, false) {
		return s.holdSlot(), nil
	}
	select {
	case s.o.Slots <- struct{}{}:
		return s.holdSlot(), nil
	case <-ctx.Done():
		return nil, gaveUp(ctx, s.o.Name, "other servers were still starting")
	}
}

func (s *Server) rememberedEra() mcp.Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// holdSlot keeps a slot for slotTime at most.
func (s *Server) holdSlot() (release func()) {
	var once sync.Once
	free := func() { once.Do(func() { <-s.o.Slots }) }
	timer := time.AfterFunc(slotTime, free)
	return func() { timer.Stop(); free() }
}

// reserveSlot takes a slot for the dial that is about to begin, if one is free: those that are started first start first.
func (s *Server) reserveSlot() {
	if s.o.Slots == nil || s.reserved.Load() {
		return
	}
	select {
	case s.o.Slots <- struct{}{}:
		s.reserved.Store(true)
	default:
	}
}
