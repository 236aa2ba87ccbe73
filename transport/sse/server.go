package sse

import (
	"context"
	"crypto/rand"
	"errors"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
)

const (
	defaultSessions = 256
	keepAlive       = 15 * time.Second
	// stallTime is how long a client may take for the next 64 KiB that it is sent, or that it posts.
	stallTime = 10 * time.Second
	// endTime is how long the rest of a stream may take, and closing a server in all five times that.
	endTime = time.Second

	sessionParam = "sessionId"
)

// ServerOptions say what a server end does. One of Handler and Session is needed.
type ServerOptions struct {
	// Handler answers what the clients of all sessions send.
	Handler mcp.Handler
	// Session, if set, makes the Handler of a session in place of Handler; nil from it refuses the session (503). The
	// context has the values of the GET and ends with the session. End, if not nil, is called when the session is over and
	// its calls have ended.
	Session func(ctx context.Context, r *nethttp.Request) (h mcp.Handler, end func())
	// MaxSessions bounds the open streams; further ones are refused (503). 0: 256.
	MaxSessions int
}

// Server is the server end: a GET opens a session and streams what the server says, a POST to the address that its first
// event names brings a message. It may be mounted at any path and used by many goroutines at once.
//
// A session is served as duplex.Serve says. It ends, and its calls are cancelled, when its client closes the stream, when
// the client takes less than 64 KiB in 10 s although more waits, and on Close. At most 1 MiB and one message wait for a
// client: then its answers wait too, and what it is told without asking is dropped. What a client posts at once has at
// most 64 MiB (else 503) and comes as fast as that (else 408). What all clients have posted and wait for has at most
// 1 GiB.
//
// Whoever mounts it checks Host and Origin of every request before, and who may use it: the id of a session can't be
// guessed, but nothing else protects it. The http.Server needs a ReadHeaderTimeout; its WriteTimeout and ReadTimeout
// don't hold for streams. Its Shutdown waits for the streams: call Close before, or by RegisterOnShutdown.
type Server struct {
	o         ServerOptions
	keepAlive time.Duration
	stall     time.Duration

	ctx    context.Context
	cancel context.CancelCauseFunc
	held   atomic.Int64 // by all sessions; duplex.Share

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
	running  sync.WaitGroup // sessions
}

var _ nethttp.Handler = (*Server)(nil)

// session is one stream.
type session struct {
	id     string
	in     *inbox
	ctx    context.Context
	cancel context.CancelCauseFunc

	reading atomic.Int64 // bytes of the posts that are under way
}

var (
	errServerClosed = errors.New("the server is closing")
	errGone         = errors.New("the client takes nothing any more")
)

// NewServer returns a server end. Close ends what it started.
func NewServer(o ServerOptions) *Server {
	if o.MaxSessions <= 0 {
		o.MaxSessions = defaultSessions
	}
	s := &Server{o: o, keepAlive: keepAlive, stall: stallTime, sessions: make(map[string]*session)}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// Close ends all sessions and refuses new ones. It waits for them, at most five seconds. It is idempotent and returns
// nil.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(errServerClosed)
	idle := make(chan struct{})
	go func() {
		s.running.Wait()
		close(idle)
	}()
	within(idle, 5*endTime)
	return nil
}

// ServeHTTP serves one stream or takes one message.
func (s *Server) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	switch r.Method {
	case nethttp.MethodGet:
		s.get(w, r)
	case nethttp.MethodPost:
		s.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		nethttp.Error(w, "open the event stream by GET and send messages by POST", nethttp.StatusMethodNotAllowed)
	}
}

func (s *Server) get(w nethttp.ResponseWriter, r *nethttp.Request) {
	ses := s.begin(r)
	if ses == nil {
		nethttp.Error(w, "too many sessions are open, or the server is closing; try again later", nethttp.StatusServiceUnavailable)
		return
	}
	defer s.end(ses)
	h := s.o.Handler
	if s.o.Session != nil {
		var end func()
		if h, end = s.o.Session(ses.ctx, r); end != nil {
			defer end()
			defer ses.cancel(nil) // before end
		}
	}
	if h == nil {
		nethttp.Error(w, "no session can be opened now; try again later", nethttp.StatusServiceUnavailable)
		return
	}
	out := newStream(w, s.stall)
	if out.begin(endpoint(r, ses.id)) != nil {
		return
	}
	alive := out.keepAlive(s.keepAlive, func() { ses.cancel(errGone) })
	defer out.end(alive)
	_ = duplex.Serve(ses.ctx, ses.in, out, h, 0, &s.held) // how it ended is of no use to anybody here
}

// begin makes a session, nil if there are too many.
func (s *Server) begin(r *nethttp.Request) *session {
	ses := &session{id: rand.Text(), in: newInbox()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.sessions) >= s.o.MaxSessions {
		return nil
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(s.ctx, func() { cancel(errServerClosed) })
	ses.ctx, ses.cancel = ctx, func(cause error) { stop(); cancel(cause) }
	s.sessions[ses.id] = ses
	s.running.Add(1)
	return ses
}

func (s *Server) end(ses *session) {
	s.mu.Lock()
	delete(s.sessions, ses.id)
	s.mu.Unlock()
	ses.cancel(nil)
	ses.in.Stop()
	s.running.Done()
}

func (s *Server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// endpoint is the address to post to: that of the GET, with its query, as the client sees it. Slashes at its beginning
// are made one, since two would name a host.
func endpoint(r *nethttp.Request, id string) string {
	u := r.URL
	if seen, err := url.ParseRequestURI(r.RequestURI); err == nil { // r.URL may have lost a prefix
		u = seen
	}
	query := u.RawQuery
	if query != "" {
		query += "&"
	}
	return "/" + strings.TrimLeft(u.EscapedPath(), "/") + "?" + query + sessionParam + "=" + id
}

// within waits for c, but not longer than limit.
func within(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
