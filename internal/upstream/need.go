package upstream

import (
	"context"
	"time"
)

// need returns the connection, dialling where nobody has and waiting for whoever does. It fails at once while a process
// restarts, and when the server was given up.
func (s *supervisor) need(ctx context.Context) (*link, error) {
	for waited := false; ; waited = true {
		s.mu.Lock()
		l, wait, err := s.look(waited)
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case l != nil && l.Err() == nil:
			return l, nil
		case l != nil:
			s.lost(l) // the watcher hasn't got to it yet
			continue
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, s.tooLate(ctx)
		}
	}
}

// look is what need finds: a connection, a reason to fail, or something to wait for. It needs s.mu.
func (s *supervisor) look(waited bool) (*link, <-chan struct{}, error) {
	switch s.state {
	case Up:
		return s.link, nil, nil
	case Closed:
		return nil, nil, s.fault("it was stopped")
	case Restarting, Failed:
		return nil, nil, s.err
	case Unavailable:
		if waited {
			return nil, nil, s.err
		}
		s.begin(Reconnecting)
	case Reconnecting:
		if s.o.plan.isFar(time.Until(s.next)) { // the server asked to be left alone for so long
			return nil, nil, s.err
		}
	case Idle:
		s.begin(Starting)
	}
	return nil, s.changed, nil
}

// Ready waits until the dial under way has led to something, and returns why the server can't be reached, if it can't.
func (s *supervisor) Ready(ctx context.Context) error {
	if !s.o.brief {
		_, err := s.need(ctx)
		return err
	}
	for waited := false; ; waited = true {
		s.mu.Lock()
		_, wait, err := s.look(waited)
		up := s.state == Up
		s.mu.Unlock()
		if up || err != nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return s.tooLate(ctx)
		}
	}
}

// Settle waits for the first dial to end, if one is under way, and reports whether there was one. It starts none.
func (s *supervisor) Settle(ctx context.Context) bool {
	for waited := false; ; waited = true {
		s.mu.Lock()
		state, wait := s.state, s.changed
		s.mu.Unlock()
		if state != Starting {
			return waited
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return true
		}
	}
}

// failure is why the server isn't up; nil if it is.
func (s *supervisor) failure(ctx context.Context) error {
	s.mu.Lock()
	state, err := s.state, s.err
	s.mu.Unlock()
	switch {
	case state == Up:
		return nil
	case state == Closed:
		return s.fault("it was stopped")
	case err != nil:
		return err
	}
	return s.tooLate(ctx)
}
