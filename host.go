package usher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/internal/upstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
)

// Server is one configured server.
type Server struct {
	Name         string              // as the configuration calls it; unique
	Transport    transport.Transport // how to reach it
	Fallback     transport.Transport // how to reach it if it is too old for Transport; nil: not at all
	Kind         string              // stdio, http, sse, ws or grpc, for events
	TrustHints   bool                // the user trusts what it says about its own tools
	StartTimeout time.Duration       // default 30 s
	CallTimeout  time.Duration       // default the session's
}

// Options are the parts of a Host. Log is required.
type Options struct {
	Servers []Server
	// Local serves the tools of Usher itself; nil: there are none. Their reads run without a question. It must heed the
	// end of a call's context: Close waits for it.
	Local mcp.Handler
	// Policy returns the rules in force. It is called for each decision and must be fast; nil: no rules.
	Policy func() *permission.Policy
	// Asker asks a person; nil: nobody can be asked.
	Asker permission.Asker
	// Remember keeps the answer "always": it writes an allow rule for the tool. Nil: the answer holds for the session.
	Remember func(permission.Target) error

	// Command is how hints call the usher command, such as "usher --config FILE"; default "usher".
	Command string
	// Redact takes known secrets out of what is said about failures; nil: nothing is known. It returns its argument
	// where it finds none, and is safe for concurrent use.
	Redact func([]byte) []byte

	Log         event.Log
	HostSession string // the session of the host's own events; empty: they aren't recorded
	Info        mcp.Implementation
	Clock       event.Clock                // default time.Now; measures how long calls took
	NewID       func(prefix string) string // default random
}

// Host holds the servers and the sessions that use them. All methods are safe for concurrent use.
type Host struct {
	o       Options
	router  *router.Router
	local   *upstream.Server
	servers map[string]*upstream.Server
	limits  map[string]time.Duration // call time-outs of servers that have their own
	ctx     context.Context          // the host's life
	cancel  context.CancelFunc
	forget  func() bool // lets go of the context that Open was given
	listed  atomic.Pointer[listing]
	open    sync.WaitGroup // sessions that have not ended
	over    chan struct{}  // closed when Close is done

	mu       sync.Mutex
	closed   bool
	sessions map[*Session]struct{}
	changed  map[*Session]func() // told when the table changes
}

const (
	stdioSlots  = 3  // local servers that start at once (C8)
	remoteSlots = 20 // remote ones
)

// Open makes a Host and starts its servers in the background. A server that doesn't come up stops nothing else. ctx is
// the life of the host: when it ends, so does everything that the host started; Close waits for that.
func Open(ctx context.Context, o Options) (*Host, error) {
	if o.Log == nil {
		return nil, errors.New("usher.Open: Options.Log is missing; nothing runs unrecorded")
	}
	o = o.withDefaults()
	life := ctx
	h := &Host{
		o: o, router: router.New(), over: make(chan struct{}), servers: map[string]*upstream.Server{},
		limits:   map[string]time.Duration{},
		sessions: map[*Session]struct{}{}, changed: map[*Session]func(){},
	}
	h.ctx, h.cancel = context.WithCancel(context.WithValue(life, lifeOf{h}, true))
	if err := h.addServers(h.ctx); err != nil {
		_ = h.Close()
		return nil, err
	}
	for _, s := range h.servers {
		s.Start()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget = context.AfterFunc(life, func() { _ = h.Close() })
	return h, nil
}

// Context ends when the host is closed, and with it all that was made from it. A call whose context was made from it
// needs no watching, and is cheaper. Don't give a call what context.WithoutCancel makes of it: nothing but its time would
// end that call, and Close waits for it.
func (h *Host) Context() context.Context { return h.ctx }

// lifeOf is how a context tells that it ends with a host.
type lifeOf struct{ h *Host }

func (h *Host) owns(ctx context.Context) bool { return ctx.Value(lifeOf{h}) != nil }

func (o Options) withDefaults() Options {
	if o.Policy == nil {
		none := new(permission.Policy)
		o.Policy = func() *permission.Policy { return none }
	}
	if o.Asker == nil {
		o.Asker = permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
			return permission.Answer{}, permission.ErrNobody
		})
	}
	if o.Command == "" {
		o.Command = "usher"
	}
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "usher", Version: Version}
	}
	return o
}

// newID makes an id of 128 random bits. It names things and guards nothing: a call pays for it.
func newID(prefix string) string {
	b := make([]byte, 0, 64)
	b = append(b, prefix...)
	for range 2 {
		b = appendHex(b, rand.Uint64())
	}
	return string(b)
}

func appendHex(b []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[v>>shift&15])
	}
	return b
}

// addServers also connects the local tools, which must be there before the first call.
func (h *Host) addServers(ctx context.Context) error {
	if h.o.Local != nil {
		h.local = h.newServer(ctx, Server{Transport: localTransport(h.o.Local), Kind: "local", TrustHints: true}, nil)
		if err := h.local.Ready(ctx); err != nil {
			return fmt.Errorf("the local tools don't work: %w", err)
		}
	}
	local, remote := make(chan struct{}, stdioSlots), make(chan struct{}, remoteSlots)
	for _, s := range h.o.Servers {
		if h.servers[s.Name] != nil || s.Name == "" {
			return fmt.Errorf("usher.Open: the server name %q is empty or used twice", s.Name)
		}
		slots := remote
		if s.Kind == "stdio" {
			slots = local
		}
		h.servers[s.Name] = h.newServer(ctx, s, slots)
		if s.CallTimeout > 0 {
			h.limits[s.Name] = s.CallTimeout
		}
	}
	return nil
}

func (h *Host) newServer(ctx context.Context, s Server, slots chan struct{}) *upstream.Server {
	return upstream.New(ctx, upstream.Options{
		Name: s.Name, Transport: s.Transport, Fallback: s.Fallback, Kind: s.Kind, Info: h.o.Info,
		StartTimeout: s.StartTimeout, Slots: slots, Record: h.record, Redact: h.o.Redact,
		OnTools: func(tools []mcp.Tool) { h.setTools(s, tools) },
	})
}

func (h *Host) setTools(s Server, tools []mcp.Tool) {
	c := h.router.Set(router.Origin{Server: s.Name, Trusted: s.TrustHints, Builtin: s.Name == ""}, tools)
	same := len(c.Added)+len(c.Removed)+len(c.Changed) == 0
	if s.Name != "" && (!same || len(tools) == 0) {
		h.record(event.ServerCatalog{
			Server: s.Name, Tools: len(tools), Added: some(c.Added), Removed: some(c.Removed), Changed: some(c.Changed), Hash: catalogHash(tools),
		})
	}
	if same {
		return
	}
	h.mu.Lock()
	var tell []func()
	for _, f := range h.changed {
		tell = append(tell, f)
	}
	h.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// some bounds a list of names that a server chose.
func some(names []string) []string { return names[:min(len(names), 100)] }

func catalogHash(tools []mcp.Tool) string {
	raw := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, t.Raw...)
	}
	return mcp.Digest(append(raw, ']'))
}

// record writes events of the host itself. They are never waited for.
func (h *Host) record(d ...event.Data) {
	if h.o.HostSession != "" {
		_, _ = h.o.Log.Append(context.Background(), h.o.HostSession, d...) // the log remembers why it fails and refuses calls
	}
}

// ServerStatus is how one server fares.
type ServerStatus struct {
	Name, Kind string
	State      string // idle, starting, up, down or closed
	Err        error  // why it can't be reached, while it is down
	Era        string
	Revision   string
	Why        string // how the era was found
	Fallback   bool   // it is reached by Server.Fallback; Why says the reason
	ServerInfo json.RawMessage
	// Capabilities is what it declares: an object, or nil.
	Capabilities json.RawMessage
	Steps        []Step // of its last start, in order; also of one that failed
	Tools        int
	Dropped      []DroppedTool // what its last list brought and can't be offered; the first 100
	Took         time.Duration // what its last start took
	PID          int
	Stderr       string // the last lines that it wrote there
	StrayLines   int
	StraySample  string
}

// Step is one thing that was done to reach a server.
type Step struct {
	What   string // a method of the protocol, or "connect"
	Took   time.Duration
	Result string // "ok", or what went wrong, in one line
}

// DroppedTool is a tool that a server lists and that can't be offered.
type DroppedTool struct{ Name, Reason string }

// Servers tells how each server fares, in the order of the configuration.
func (h *Host) Servers() []ServerStatus {
	count := map[string]int{}
	for _, t := range h.router.Table().Tools() {
		count[t.Server]++
	}
	var all []ServerStatus
	for _, c := range h.o.Servers {
		s := h.servers[c.Name]
		if s == nil {
			continue
		}
		all = append(all, h.statusOf(c, s.Status(), count[c.Name]))
	}
	return all
}

func (h *Host) statusOf(c Server, st upstream.Status, tools int) ServerStatus {
	status := ServerStatus{
		Name: c.Name, Kind: c.Kind, State: string(st.State), Err: h.redactError(st.Err), Era: st.Info.Era.String(), Revision: st.Info.Revision,
		Why: st.Info.Why, Fallback: st.Info.Fallback, ServerInfo: st.Info.ServerInfo, Capabilities: st.Info.Capabilities, Tools: tools,
		Took: st.Took, PID: st.PID, Stderr: h.redact(st.Stderr), StrayLines: st.StrayLines, StraySample: h.redact(st.StraySample),
	}
	for _, step := range st.Info.Steps {
		status.Steps = append(status.Steps, Step{step.What, step.Took, h.redact(step.Result)})
	}
	for _, d := range st.Dropped {
		status.Dropped = append(status.Dropped, DroppedTool{h.redact(d.Name), h.redact(d.Reason)})
	}
	return status
}

// redact takes secrets out of what a server wrote or an error says (G4).
func (h *Host) redact(s string) string {
	if s == "" {
		return s
	}
	return string(h.o.Redact([]byte(s)))
}

// redactError keeps the kind of an error, and loses its chain where that held a secret.
func (h *Host) redactError(err error) error {
	if err == nil || h.redact(err.Error()) == err.Error() {
		return err
	}
	e := *fault.Of(err)
	e.Detail, e.Hint = h.redact(e.Detail), h.redact(e.Hint)
	if e.Cause != nil {
		e.Cause = errors.New(h.redact(e.Cause.Error()))
	}
	return &e
}

// Command is how hints call the usher command.
func (h *Host) Command() string { return h.o.Command }

// Ready waits until each server has come up or failed, or until ctx ends.
func (h *Host) Ready(ctx context.Context) {
	h.settle(ctx)
}

// Close ends all sessions and servers, and all that they started. Calls in flight fail, and questions are withdrawn; it
// waits until the log has the end of each.
func (h *Host) Close() error {
	h.mu.Lock()
	was := h.closed
	h.closed = true
	sessions := make([]*Session, 0, len(h.sessions))
	for s := range h.sessions {
		sessions = append(sessions, s)
	}
	forget := h.forget
	h.mu.Unlock()
	if was {
		<-h.over
		return nil
	}
	defer close(h.over)
	if forget != nil {
		forget()
	}
	h.cancel() // ends questions, calls and dials
	killpoint.At("host.closing")
	for _, s := range sessions {
		s.Close("host_closed")
	}
	var wg sync.WaitGroup
	for _, s := range h.servers {
		wg.Go(func() { _ = s.Close() })
	}
	if h.local != nil {
		wg.Go(func() { _ = h.local.Close() })
	}
	wg.Wait()
	h.open.Wait()
	killpoint.At("host.closed")
	return nil
}
