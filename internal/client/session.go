package client

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Session is one MCP session. It may be used by many goroutines at once. It ends with its connection or with Close,
// and is never opened again.
type Session struct {
	o       Options
	conn    transport.Conn
	handler mcp.Handler // conn, if it takes requests itself
	way     way         // set before Connect returns, then only read

	who      []byte   // Options.Info as JSON
	steps    *steps   // of the handshake
	declared declared // by Options
	asked    asked
	watched  watched

	starting sync.Mutex     // guards shut, and work against being waited for while it grows
	shut     bool           // Close waits for work, or has
	work     sync.WaitGroup // goroutines of ours besides read and write

	ids    atomic.Int64
	calls  calls
	strays atomic.Uint64
	modern atomic.Bool                // way.info.Era is Modern, for the reader, which runs before way is set
	repeat atomic.Pointer[mcp.Mirror] // way.mirror, for the same reason

	headers *atomic.Pointer[headerTable] // shared with the sessions of Options.ToolsOf
	bad     atomic.Pointer[[]Dropped]
	listing chan struct{} // a token: who holds it may list anew after a refused header

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	outbox  chan *mcp.Message // what nobody waits for: cancellations, answers to the server's requests
	writing chan struct{}     // closed when the outbox is given up
	over    chan struct{}     // closed when the connection has ended
	done    chan struct{}     // closed when the reader has ended
	end     error             // why; written before over is closed
	closed  atomic.Bool       // by us
}

var _ mcp.Handler = (*Session)(nil)

// way is how this session's server is spoken to.
type way struct {
	info   Info
	own    []byte      // our members of _meta, without braces; empty for legacy
	mirror *mcp.Mirror // of every request; nil for a modern server, whose requests differ
}

// errClosed ends a session that we closed.
var errClosed = errors.New("the connection was closed from our side")

const (
	outboxRoom = 256
	closeTime  = time.Second
)

// open connects and starts to read, but says nothing yet.
func open(ctx context.Context, t transport.Transport, o Options, done *steps, what string) (*Session, error) {
	end := done.begin(what)
	conn, err := t.Connect(ctx)
	end((&Session{o: o}).outcome(nil, err))
	if err != nil {
		return nil, (&Session{o: o}).connectFailure(ctx, err)
	}
	s := &Session{
		o: o, conn: conn, outbox: make(chan *mcp.Message, outboxRoom),
		writing: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}), listing: make(chan struct{}, 1),
	}
	s.who, _ = json.Marshal(o.Info) // strings always can be
	s.steps = done
	s.headers = new(atomic.Pointer[headerTable])
	if o.ToolsOf != nil {
		s.headers = o.ToolsOf.headers
	}
	s.declared = declare(o.terms())
	s.watched = newWatched()
	s.calls.open = make(map[int64]*call)
	s.handler, _ = conn.(mcp.Handler)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.read()
	go s.write()
	return s, nil
}

// Info returns what the handshake told. Its raw parts must not be changed.
func (s *Session) Info() Info { return s.way.info }

// Describe tells how the server fares, as far as its transport knows.
func (s *Session) Describe() transport.Description {
	if d, ok := s.conn.(transport.Describer); ok {
		return d.Describe()
	}
	return transport.Description{}
}

// Strays counts what the server sent that nobody had asked for or waited for any more: unknown or second answers,
// progress without a call, messages that couldn't be read.
func (s *Session) Strays() uint64 { return s.strays.Load() }

// Done is closed when the connection has ended, before the calls in flight fail.
func (s *Session) Done() <-chan struct{} { return s.over }

// Err says why the connection has ended; nil while it lives.
func (s *Session) Err() error {
	select {
	case <-s.over:
		return s.end
	default:
		return nil
	}
}

// Close ends the connection, all calls in flight, subscriptions, and the questions of the server. It is idempotent, and
// as bounded as the Close of the Conn, plus a second if OnRequest holds on to a question although its context has ended.
func (s *Session) Close() error {
	s.closed.Store(true)
	s.cancel()
	err := s.conn.Close()
	<-s.done
	<-s.writing
	s.starting.Lock()
	s.shut = true
	s.starting.Unlock()
	waitAtMost(&s.work, closeTime)
	return err
}

// start runs f in a goroutine that Close waits for; f must end when s.ctx does. It reports false after Close.
func (s *Session) start(f func()) bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.shut {
		return false
	}
	s.work.Go(f)
	return true
}

func waitAtMost(w *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	within(done, limit)
}
