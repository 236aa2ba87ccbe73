package upstream

import (
	"context"
	"sync"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
)

// seat is the connection that one attempt of a call has (D1).
type seat struct {
	link   *link
	main   *link         // of keeper, which link may be or not
	keeper *supervisor   // of the connection that says whether the server is there
	lease  *lease[*link] // link belongs to the pool
	own    bool          // link is for this call alone
}

// leave gives the connection back.
func (a *seat) leave() {
	switch {
	case a.lease != nil:
		a.lease.release()
	case a.own:
		_ = a.link.Close()
	}
}

// served notes that the server has answered a call.
func (a *seat) served() {
	if a.main == nil {
		return
	}
	a.main.errors.Store(0)
	if !a.main.served.Load() {
		a.main.served.Store(true)
	}
}

// take finds the connection for a call: its own, its session's, one of the pool, or the shared one.
func (s *Server) take(ctx context.Context, owner *Owner) (*seat, error) {
	how := s.o.Lifecycle.Isolation
	if how == lifecycle.PerCall {
		return s.takeOwn(ctx)
	}
	keeper := s.main
	if owner != nil && (how == lifecycle.PerSession || how == lifecycle.Auto && s.o.Lifecycle.Stateful) {
		keeper = s.owned.of(s, owner)
		if keeper == nil {
			return nil, s.main.fault("the session is over")
		}
	}
	return s.takeShared(ctx, keeper, true)
}

// takeShared is take where a supervisor has the connection. Again is whether a pool that can't be filled is a reason to
// look at that connection anew.
func (s *Server) takeShared(ctx context.Context, keeper *supervisor, again bool) (*seat, error) {
	l, err := s.needAwake(ctx, keeper)
	if err != nil {
		return nil, err
	}
	a := &seat{link: l, main: l, keeper: keeper}
	if s.pool == nil || keeper != s.main || s.o.Lifecycle.Stateful || l.session.Info().Era != mcp.Modern {
		return a, nil
	}
	if a.lease, err = s.pool.get(ctx); err == nil {
		a.link = a.lease.m
		return a, nil
	}
	if again && ctx.Err() == nil && (isNetwork(err) || isPassing(err)) {
		keeper.drop(l, "no connection for calls: "+reason(err), true) // the server is gone: its ladder is waited for
		return s.takeShared(ctx, keeper, false)
	}
	return nil, err
}

// needAwake is need, but for a remote server whose connection may have died while the machine slept: that is asked first.
func (s *Server) needAwake(ctx context.Context, keeper *supervisor) (*link, error) {
	l, err := keeper.need(ctx)
	if err != nil || s.isLocal() {
		return l, err
	}
	now := s.o.Woke()
	if l.woke.Load() == now {
		return l, nil
	}
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return nil, keeper.tooLate(ctx)
	}
	if l.woke.Load() != now {
		s.verify(ctx, keeper, l)
		if ctx.Err() != nil {
			return nil, keeper.tooLate(ctx)
		}
		l.woke.Store(now)
	}
	return keeper.need(ctx)
}

// takeOwn makes a connection for one call. It ends with the call, and with the server.
func (s *Server) takeOwn(ctx context.Context) (*seat, error) {
	if !s.hold() {
		return nil, s.main.fault("it was stopped")
	}
	defer s.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	release, err := s.slot(ctx)
	if err != nil {
		return nil, s.stopped(err)
	}
	defer release()
	l, _, err := s.shakeHands(ctx, s.listening(), nil)
	s.guard.dialed(err)
	if err != nil {
		return nil, s.stopped(err)
	}
	s.main.Nudge() // it is there again, if it was given up
	s.work.Go(func() {
		select {
		case <-s.ctx.Done():
		case <-l.session.Done():
		}
		_ = l.Close()
	})
	return &seat{link: l, keeper: s.main, own: true}, nil
}

// stopped is err, but for one that comes of the server's end.
func (s *Server) stopped(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return s.main.fault("it was stopped")
	}
	return err
}

// Owner stands for an agent's session. The zero value is one; it must not be copied.
type Owner struct{ _ byte }

// owned are the connections that sessions have for themselves.
type owned struct {
	mu     sync.Mutex
	all    map[*Owner]*supervisor
	closed bool
}

// of returns the supervisor of an owner's connection; nil if the server is closed.
func (o *owned) of(s *Server, owner *Owner) *supervisor {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	if o.all == nil {
		o.all = map[*Owner]*supervisor{}
	}
	if o.all[owner] == nil {
		o.all[owner] = newSupervisor(s.ctx, supervision{
			server: s.o.Name, plan: s.main.o.plan, hurt: s.main.o.hurt, record: s.record,
			dial: func(ctx context.Context) (*link, error) { return s.openOwned(ctx) },
		})
	}
	return o.all[owner]
}

// openOwned makes the connection of a session. What the server offers is known from the main one, if that is up.
func (s *Server) openOwned(ctx context.Context) (*link, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var known *client.Session
	if main := s.main.current(); main != nil { // it isn't waited for: it has a ladder of its own
		known = main.session
	}
	l, _, err := s.shakeHands(ctx, s.listening(), known)
	s.guard.dialed(err)
	return l, err
}

// Release ends the connection that owner has for itself, if there is one. It waits only while the server is being closed.
func (s *Server) Release(owner *Owner) {
	s.owned.mu.Lock()
	keeper := s.owned.all[owner]
	delete(s.owned.all, owner)
	s.owned.mu.Unlock()
	if keeper != nil && !s.spawn(func() { keeper.Close() }) {
		keeper.Close() // the server is being closed, and no longer knows of it
	}
}

// end closes all of them, for good or so that the next calls open new ones.
func (o *owned) end(forGood bool) {
	o.mu.Lock()
	all := o.all
	o.all, o.closed = nil, o.closed || forGood
	o.mu.Unlock()
	var wg sync.WaitGroup
	for _, keeper := range all {
		wg.Go(func() { keeper.Close() })
	}
	wg.Wait()
}

func (o *owned) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}
