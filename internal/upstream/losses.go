package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/transport"
)

// lossOf says why a connection has ended.
func (s *supervisor) lossOf(l *link) error {
	d := l.session.Describe()
	e := s.fault(d.Exit)
	if e.Detail == "" {
		e.Detail = "the connection ended"
		if err := l.Err(); err != nil {
			e.Detail = err.Error()
		}
	}
	e.Cause = l.Err()
	return e
}

// down is what a call reads that isn't let wait for the next dial.
func (s *supervisor) down(err error, wait time.Duration) error {
	if !s.o.plan.process {
		return err
	}
	e := *fault.Of(err)
	e.Kind = fault.Unavailable
	e.Detail = fmt.Sprintf("it is being restarted (%d of %d): %s", s.failures, s.o.plan.backoff.Steps, reason(err))
	e.Hint = fmt.Sprintf("Call again in %d s", int((wait+time.Second).Round(time.Second)/time.Second))
	return &e
}

// givenUp is what a call reads of a server that isn't dialled by itself any more.
func (s *supervisor) givenUp(err error) error {
	if !s.o.plan.process || !s.o.plan.enabled || s.failures <= 1 {
		return err
	}
	e := *fault.Of(err)
	e.Kind = fault.Unavailable
	e.Detail = fmt.Sprintf("it was given up after %d restarts in a row: %s", s.failures-1, reason(err))
	return &e
}

// tooLate is for a caller whose time ended while it waited.
func (s *supervisor) tooLate(ctx context.Context) error {
	s.mu.Lock()
	why := s.err
	s.mu.Unlock()
	kind := fault.Timeout
	if c, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		kind = c.Kind
	} else if errors.Is(ctx.Err(), context.Canceled) {
		kind = fault.Cancelled
	}
	e := &fault.Error{Kind: kind, Server: s.o.server, Detail: "it is still starting", Cause: ctx.Err()}
	if why != nil {
		e.Detail = "it is being reconnected to: " + reason(why)
	}
	return e
}

// crashOf is the event of a loss, or of a process that didn't get as far as to answer.
func crashOf(server string, st step) event.ServerCrashed {
	e := event.ServerCrashed{Server: server, Attempt: st.nth}
	d := descriptionOf(st)
	e.StderrTail = d.Stderr
	switch {
	case d.Signal != "":
		e.Signal = d.Signal
	case d.Exit != "" && d.ExitCode >= 0:
		e.ExitCode = &d.ExitCode
	default:
		e.Error = reason(st.err)
	}
	return e
}

func descriptionOf(st step) transport.Description {
	if st.lost != nil {
		return st.lost.session.Describe()
	}
	return describe(st.err)
}

// describe is what an error knows of a server that ended before anyone could ask its connection.
func describe(err error) transport.Description {
	if d, ok := errors.AsType[interface {
		error
		transport.Describer
	}](err); ok {
		return d.Describe()
	}
	return transport.Description{}
}

// reason is what an event says of an error: its detail without the sentence around it.
func reason(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}
