package upstream

import (
	"time"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/transport"
)

// Status is what an operator wants to know of a server.
type Status struct {
	State    State
	Err      error         // why it is not up, or was not the last time
	Took     time.Duration // what the last dial took, from the start to the last page of tools
	Info     client.Info   // with the steps of the last dial, to the last page of tools; also of one that failed
	Restarts int           // dials after the first that led to a connection
	Since    time.Time     // up since then; zero: it isn't up
	NextTry  time.Time     // of the next dial; zero: none is waited for
	Breaker  string        // closed, open or half-open; empty: there is none
	Owned    int           // connections that belong to single sessions

	PoolSize, PoolBusy, PoolMax int // connections for calls; zero: there is no pool

	transport.Description
	Dropped []client.Dropped // what the last listing brought and can't be offered
}

// Status tells how the server fares now.
func (s *Server) Status() Status {
	m := s.main
	m.mu.Lock()
	st := Status{State: m.state, Err: m.err, Restarts: m.restarts, NextTry: m.next}
	l := m.link
	if m.state == Up {
		st.Since = m.since
	}
	m.mu.Unlock()
	s.mu.Lock()
	if st.State != Starting {
		st.Took, st.Info = s.last.took, s.last.info
		if st.Err != nil && s.last.err != nil {
			st.Err = s.last.err
		}
		st.Description = describe(s.last.err)
	}
	s.mu.Unlock()
	st.Breaker, st.Owned = s.guard.state(), s.owned.count()
	if s.pool != nil {
		st.PoolSize, st.PoolBusy, st.PoolMax = s.pool.stats()
	}
	if l != nil {
		st.Description, st.Dropped = l.session.Describe(), l.session.Dropped()
	}
	return st
}

// PID is the process that serves now, 0 where there is none.
func (s *Server) PID() int {
	m := s.main
	m.mu.Lock()
	l := m.link
	m.mu.Unlock()
	if l == nil {
		return 0
	}
	return l.pid
}
