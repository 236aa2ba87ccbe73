package upstream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Options describe one server. Name is empty for the server of Usher's own tools, which is in no event.
type Options struct {
	Name      string
	Transport transport.Transport
	Fallback  transport.Transport // for a server that is too old for Transport; nil: there is no other way
	Kind      string              // stdio, http, sse, ws, grpc or local: what events call the transport
	Info      mcp.Implementation  // who we say we are
	Lifecycle lifecycle.Settings
	Slots     chan struct{}  // how many servers of its kind start at once; nil: no bound
	Shelf     *catalog.Shelf // what is known of what it offers
	OnOffer   func()         // called after each round of listing, never twice at once; what came is on the shelf
	// OnState is called after each new state, without a lock held.
	OnState func()
	Record  func(...event.Data)
	Redact  func([]byte) []byte // takes secrets out of what the server says, before it is cut; nil: none are known
	// Woke counts the wake-ups of the machine and the changes of its network; nil: there are none.
	Woke func() uint64
}

// State is how a server fares; the package comment draws the ways between them.
type State string

// The states.
const (
	Idle         State = "idle" // not dialled yet
	Starting     State = "starting"
	Up           State = "up"
	Restarting   State = "restarting"   // a process: it ended, and is started again
	Reconnecting State = "reconnecting" // a remote: it was lost, and is dialled again
	Unavailable  State = "unavailable"  // a remote: the next call dials once
	Failed       State = "failed"       // a process: it was given up
	Closed       State = "closed"
)

// kindStdio is the Kind of a server that is a child process.
const kindStdio = "stdio"

// Server is one configured server. All methods are safe for concurrent use.
type Server struct {
	o      Options
	ctx    context.Context // the server's life
	cancel context.CancelFunc
	work   sync.WaitGroup
	logs   logLimit
	guard  *guard
	main   *supervisor
	pool   *pool[*link] // of calls to a server that keeps no state between them
	owned  owned
	lister lister

	reserved atomic.Bool // a slot is held for the next dial of main

	mu   sync.Mutex
	shut bool // Close waits for work, or has
	last dialled
	era  mcp.Era
}

// dialled is what the last dial of the main connection found out.
type dialled struct {
	err  error
	took time.Duration
	info client.Info // with all steps, the listing too, also where that failed
}

// New makes a Server that isn't dialled yet. ctx is its life: when it ends, so does the server.
func New(ctx context.Context, o Options) *Server {
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	if o.Woke == nil {
		o.Woke = func() uint64 { return 0 }
	}
	s := &Server{o: o}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.lister.wake = make(chan struct{}, 1)
	s.era = o.Shelf.Entry().Era
	s.guard = newGuard(o.Lifecycle, guardHooks{Server: o.Name, Breaker: func(from, to string) {
		s.record(event.ServerBreaker{Server: o.Name, From: from, To: to})
	}})
	s.main = newSupervisor(s.ctx, supervision{
		server: o.Name, plan: planFor(o.Kind == kindStdio, o.Lifecycle), dial: s.openMain, reserve: s.reserveSlot, hurt: o.Lifecycle.Reconnect.Errors,
		record: s.record, moved: s.stateChanged, brief: o.Lifecycle.Isolation == lifecycle.PerCall,
	})
	if o.Lifecycle.Pool.Max > 0 && (o.Kind == "http" || o.Kind == "grpc") {
		s.pool = newPool(s.ctx, o.Lifecycle.Pool, s.openMore)
	}
	s.work.Go(s.listWhenDue)
	return s
}

// Name returns the configured name.
func (s *Server) Name() string { return s.o.Name }

// Start dials in the background, if nobody has yet.
func (s *Server) Start() { s.main.Start() }

// Ready waits until the server is up, or can't be reached for now, and returns why not. It dials where nobody has.
func (s *Server) Ready(ctx context.Context) error { return s.main.Ready(ctx) }

// Settle waits for the first dial to end, if one is under way, and reports whether there was. It starts none.
func (s *Server) Settle(ctx context.Context) bool { return s.main.Settle(ctx) }

// Nudge says that the machine woke up or its network changed: a server that was given up for the time being is dialled,
// a connection that is up is asked whether it still lives.
func (s *Server) Nudge() {
	if s.isLocal() {
		return
	}
	s.guard.reset() // its clock stands still while the machine sleeps
	s.main.Nudge()
	if l := s.main.current(); l != nil {
		s.spawn(func() { s.verify(s.ctx, s.main, l) })
	}
}

// Wanted says that somebody asked what the server offers: one that was given up for the time being is dialled once, as
// for a call, unless its breaker is open or it would only refuse again. It doesn't wait.
func (s *Server) Wanted() {
	s.main.mu.Lock()
	worth := s.main.state == Unavailable && !isHopeless(s.main.err)
	s.main.mu.Unlock()
	if worth && s.guard.state() != "open" {
		s.main.Nudge()
	}
}

// Restart ends the server's connections and process, whatever its state, and dials anew; calls in flight fail. It waits
// for the outcome of the first dial.
func (s *Server) Restart(ctx context.Context) error {
	s.main.Restart()
	s.owned.end(false)
	s.lost()
	s.guard.reset()
	s.main.Settle(ctx)
	return s.main.failure(ctx)
}

// lost closes what other connections there are: the server behind them is gone.
func (s *Server) lost() {
	if s.pool != nil {
		s.pool.reset()
	}
}

// stateChanged follows a new state of the main connection.
func (s *Server) stateChanged() {
	if s.State() == Up {
		s.wakeLister() // what came due while the connection was made
	} else {
		s.lost()
	}
	if s.o.OnState != nil {
		s.o.OnState()
	}
}

// State tells how the main connection fares.
func (s *Server) State() State {
	s.main.mu.Lock()
	defer s.main.mu.Unlock()
	return s.main.state
}

// isLocal: a child process or a server in this one. No network lies between.
func (s *Server) isLocal() bool { return s.o.Kind == kindStdio || s.o.Kind == "local" }

// Close ends the server and everything that it started, within a second. Calls in flight fail. reason is for the log.
func (s *Server) Close(reason string) {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.cancel()
	var all sync.WaitGroup
	all.Go(func() { s.owned.end(true) })
	if s.pool != nil {
		all.Go(s.pool.close)
	}
	was := s.main.Close()
	all.Wait()
	s.work.Wait()
	if was != Idle && was != Closed {
		s.record(event.ServerShutdown{Server: s.o.Name, Reason: reason})
	}
}

// spawn runs f in a goroutine that Close waits for; f must end when s.ctx does. It reports false after Close.
func (s *Server) spawn(f func()) bool {
	if !s.hold() {
		return false
	}
	go func() {
		defer s.work.Done()
		f()
	}()
	return true
}

// hold has Close wait until s.work.Done, which must follow soon when s.ctx has ended. It reports false after Close.
func (s *Server) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.work.Add(1)
	}
	return !s.shut
}

func (s *Server) record(d ...event.Data) {
	if s.o.Record != nil && s.o.Name != "" && len(d) > 0 {
		s.o.Record(d...)
	}
}
