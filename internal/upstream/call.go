package upstream

import (
	"context"
	"errors"
	"net/http"
	"path"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Call is one request to the server.
type Call struct {
	Request *mcp.Message
	Peer    mcp.Peer
	Tool    string // the server's own name of the tool that it calls; empty: it calls none
	// Owner is whose call it is, for servers that get a connection for each agent's session. Release ends what it has.
	// Nil: nobody's in particular.
	Owner *Owner
	// Idle is how long the server may have the call without answer or progress, Hard how long in all; 0: no limit.
	Idle, Hard time.Duration
	// PID is set before Sending to the child process that the attempt goes to, which with connections of one's own is
	// another than Server.PID; 0: it goes to none. Nil: nobody wants to know.
	PID *int
	// Sending is called before each attempt, when the server is there and before the first byte leaves; if it fails,
	// nothing is sent and Do returns that error. Attempts count from 1; last is why the one before failed.
	Sending func(ctx context.Context, attempt int, last error) error
}

// Do sends the request and returns its answer, dialling first where the server is down. What failed is tried again only
// if it provably did not run, or if the user says that its tool may run twice (C4, D3). Errors are *fault.Error, but for
// those of Sending.
func (s *Server) Do(ctx context.Context, c Call) (*mcp.Message, error) {
	if c.Idle > 0 {
		c.Request, c.Peer = askProgress(c.Request, c.Peer)
	}
	ctx, peer, stop := beginPatience(ctx, c.Peer, c.Idle, c.Hard)
	defer stop()
	t := &try{s: s, c: c, ctx: ctx, peer: peer}
	return s.guard.do(ctx, t.once, t.again)
}

// try is a call on its way, with what its attempts share.
type try struct {
	s    *Server
	c    Call
	ctx  context.Context
	peer mcp.Peer

	link    *link // that the last attempt was sent on; nil: there was none
	renewed bool  // a session that had expired was opened anew
}

// once is one attempt.
func (t *try) once(attempt int, last error) (*mcp.Message, error) {
	t.link = nil
	seat, err := t.s.take(t.ctx, t.c.Owner)
	if err != nil {
		return nil, noConnection(err)
	}
	defer seat.leave()
	if t.c.PID != nil {
		*t.c.PID = seat.link.pid
	}
	if t.c.Sending != nil {
		if err := t.c.Sending(t.ctx, attempt, last); err != nil {
			return nil, err
		}
	}
	t.link = seat.link
	answer, err := seat.link.session.Handle(t.ctx, t.c.Request, t.peer)
	killpoint.At("server.answered")
	if err == nil {
		seat.served()
		return answer, nil
	}
	return nil, t.s.judge(t.ctx, seat, err)
}

// again decides whether a failed attempt may be followed by another one, and when at the earliest.
func (t *try) again(err error) (yes bool, after time.Duration) {
	if t.link == nil { // the supervisor's ladder is the only one there
		return false, 0
	}
	if fault.KindOf(err) == fault.SessionExpired { // C6
		first := !t.renewed
		t.renewed = true
		return first, 0
	}
	if yes, after := notRun(err); yes {
		return true, after
	}
	return replayAfterCrash || t.link.Err() == nil && isPassing(err) && t.s.mayRunTwice(t.c.Tool), askedToWait(err)
}

// mayRunTwice is the user's word on a tool, never the server's (D3).
func (s *Server) mayRunTwice(tool string) bool {
	for _, pattern := range s.o.Lifecycle.Idempotent {
		if ok, err := path.Match(pattern, tool); ok && err == nil && tool != "" {
			return true
		}
	}
	return false
}

// isPassing tells the failures that another attempt may not meet: a cut answer, and what stands before a server says
// while the server is away.
func isPassing(err error) bool {
	if status, ok := errors.AsType[*transport.StatusError](err); ok {
		switch status.Status {
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return fault.KindOf(err) == fault.Restarted
}

// judge draws the consequences of a failed call for the connection, and gives the failure the kind that fits them.
func (s *Server) judge(ctx context.Context, at *seat, err error) error {
	l := at.link
	if fault.KindOf(err) == fault.SessionExpired {
		if at.lease != nil {
			at.lease.discard()
		} else {
			at.keeper.expire(l)
		}
		return err
	}
	if l.session.Err() != nil {
		if at.lease == nil && !at.own { // else no supervisor has it
			at.keeper.lost(l)
		}
		return at.keeper.ofLoss(l, err)
	}
	if ctx.Err() == nil && isNetwork(err) || fault.KindOf(err) == fault.Timeout {
		s.hurt(at, err)
	}
	return err
}

// ofLoss gives a call that was under way when l was lost the reason that its restart table has (C2).
func (s *supervisor) ofLoss(l *link, err error) error {
	e := fault.Of(err)
	if e.Kind != fault.Restarted || l.nth == 0 {
		return err
	}
	c := *e
	c.Kind = s.o.plan.kind(l.nth)
	if c.Kind == fault.Unavailable {
		c.Hint = "The call may have run; it was not sent again"
	}
	return &c
}

// pingTime is how long a server that is doubted may take to say that it lives.
const pingTime = 5 * time.Second

// hurt counts a network error of a call. After so many in a row the connection is closed and opened anew (C5); where
// they were only time-outs the server is asked first, since it may just be slow.
func (s *Server) hurt(at *seat, err error) {
	l, most := at.main, s.main.o.hurt
	if s.isLocal() || most <= 0 || l == nil || int(l.errors.Add(1)) < most {
		return
	}
	l.errors.Store(0)
	if fault.KindOf(err) == fault.Timeout {
		s.spawn(func() { s.verify(s.ctx, at.keeper, l) })
		return
	}
	s.spawn(func() { at.keeper.drop(l, "several calls in a row failed on it: "+reason(err), true) })
}

// verify asks whether a connection still lives, and opens it anew where it doesn't.
func (s *Server) verify(ctx context.Context, keeper *supervisor, l *link) {
	limited, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := l.Ping(limited); err != nil && ctx.Err() == nil {
		keeper.drop(l, "it doesn't answer any more", true)
	}
}
