package upstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Options describe one server. Name is empty for the server of Usher's own tools, which is in no event.
type Options struct {
	Name         string
	Transport    transport.Transport
	Fallback     transport.Transport // for a server that is too old for Transport; nil: there is no other way
	Kind         string              // stdio, http or local: what events call the transport
	Info         mcp.Implementation  // who we say we are
	StartTimeout time.Duration       // from dialling to the last page of tools; default 30 s
	Slots        chan struct{}       // how many servers of its kind start at once; nil: no bound
	OnTools      func([]mcp.Tool)    // called after each listing, never twice at once
	Record       func(...event.Data)
	Redact       func([]byte) []byte // takes secrets out of what the server says, before it is cut; nil: none are known
}

// State is how a server fares.
type State string

// The states. A server that is Down is dialled again by the next call.
const (
	Idle     State = "idle" // not dialled yet
	Starting State = "starting"
	Up       State = "up"
	Down     State = "down"
	Closed   State = "closed"
)

// Server is one configured server. All methods are safe for concurrent use.
type Server struct {
	o      Options
	ctx    context.Context // the server's life
	cancel context.CancelFunc
	work   sync.WaitGroup
	relist chan struct{}
	stale  atomic.Bool // the server said that its list changed, and nobody has listed since
	logs   logLimit

	listing sync.Mutex // held from asking for the tools to handing them on
	listed  bool       // some were handed on; guarded by listing

	mu      sync.Mutex
	state   State
	session *client.Session
	dial    *dial // the dial under way, or the last one that failed
	era     mcp.Era
	crashes int
}

// dial is one attempt that all waiting callers share.
type dial struct {
	done chan struct{}
	err  error
	took time.Duration
	info client.Info // with all steps, the listing too, also where that failed
}

// New makes a Server that isn't dialled yet. ctx is its life: when it ends, so does the server.
func New(ctx context.Context, o Options) *Server {
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	s := &Server{o: o, state: Idle, relist: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.work.Go(s.listWhenTold)
	return s
}

// Name returns the configured name.
func (s *Server) Name() string { return s.o.Name }

// Start dials in the background, if nothing has yet.
func (s *Server) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Idle {
		s.startDial()
	}
}

// startDial needs s.mu.
func (s *Server) startDial() *dial {
	d := &dial{done: make(chan struct{})}
	s.dial, s.state = d, Starting
	s.work.Go(func() { s.connect(d) })
	return d
}

// Ready waits until the dial under way has ended, and returns why the server can't be reached, if it can't.
func (s *Server) Ready(ctx context.Context) error {
	_, err := s.connected(ctx)
	return err
}

// Settle waits for the dial under way to end, if there is one, and reports whether there was. It starts none.
func (s *Server) Settle(ctx context.Context) bool {
	s.mu.Lock()
	d, state := s.dial, s.state
	s.mu.Unlock()
	if state != Starting {
		return false
	}
	select {
	case <-d.done:
	case <-ctx.Done():
	}
	return true
}

// Do sends req and returns its answer, dialling first where the server is down. It calls sending when the server is
// connected, before the first byte; if sending fails, nothing is sent and that error is returned. Other errors are
// *fault.Error.
func (s *Server) Do(ctx context.Context, req *mcp.Message, p mcp.Peer, sending func() error) (*mcp.Message, error) {
	session, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	if err := sending(); err != nil {
		return nil, err
	}
	answer, err := session.Handle(ctx, req, p)
	killpoint.At("server.answered")
	if err != nil && fault.KindOf(err) == fault.SessionExpired {
		s.drop(session)
	}
	return answer, err
}

// connected returns the session, waiting for a dial where one is needed. The first call after a failure dials anew.
func (s *Server) connected(ctx context.Context) (*client.Session, error) {
	s.mu.Lock()
	if session := s.session; s.state == Up && session.Err() == nil {
		s.mu.Unlock()
		return session, nil
	} else if s.state == Up {
		s.mu.Unlock()
		s.ended(session) // watch hasn't got to it yet
		s.mu.Lock()
	}
	if s.state == Closed {
		s.mu.Unlock()
		return nil, &fault.Error{Kind: fault.Unavailable, Server: s.o.Name, Detail: "it was stopped"}
	}
	d := s.dial
	if s.state != Starting {
		d = s.startDial()
	}
	s.mu.Unlock()
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, &fault.Error{Kind: fault.Timeout, Server: s.o.Name, Detail: "it is still starting", Cause: ctx.Err()}
	}
	if d.err != nil {
		return nil, d.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Server: s.o.Name, Detail: "it ended right after its start"}
	}
	return s.session, nil
}

// Status is what an operator wants to know of a server.
type Status struct {
	State State
	Err   error         // why the last dial failed
	Took  time.Duration // what the last dial took, from the start to the last page of tools
	Info  client.Info   // with the steps of the last dial, to the last page of tools; also of one that failed
	transport.Description
	Dropped []client.Dropped // what the last listing brought and can't be offered
}

// Status tells how the server fares now.
func (s *Server) Status() Status {
	s.mu.Lock()
	session, st := s.session, Status{State: s.state}
	if s.dial != nil && s.state != Starting {
		st.Err, st.Took, st.Info = s.dial.err, s.dial.took, s.dial.info
	}
	s.mu.Unlock()
	if d, ok := errors.AsType[interface {
		error
		transport.Describer
	}](st.Err); ok {
		st.Description = d.Describe()
	}
	if session != nil {
		st.Description, st.Dropped = session.Describe(), session.Dropped()
	}
	return st
}

// Close ends the server and everything that it started, within a second. Calls in flight fail.
func (s *Server) Close() error {
	s.mu.Lock()
	session, was := s.session, s.state
	s.session, s.state = nil, Closed
	s.mu.Unlock()
	s.cancel()
	var err error
	if session != nil {
		err = session.Close()
	}
	s.work.Wait()
	if was == Up {
		s.record(event.ServerShutdown{Server: s.o.Name, Reason: "closed"})
	}
	return err
}

func (s *Server) record(d ...event.Data) {
	if s.o.Record != nil && s.o.Name != "" {
		s.o.Record(d...)
	}
}
