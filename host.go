package usher

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// Options are the parts of a Host. Log is required.
type Options struct {
	Servers []Server
	// Local serves the tools of Usher itself; nil: there are none. Their reads run without a question. It must heed the
	// end of a call's context: Close waits for it.
	Local mcp.Handler
	// Policy returns the rules in force. It is called for each decision and must be fast; nil: no rules.
	Policy func() *permission.Policy
	// Asker asks a person; nil: only sessions with an Asker of their own can ask, and who answers by Host.Questions.
	Asker permission.Asker
	// Questions keeps what a person is asked until it is answered or too old (F5), so that it can be answered by
	// Host.Questions, from here or another process. Nil: only an Asker can answer, while its call waits.
	Questions QuestionStore
	// AskWait is how long a call waits for an answer before it fails with approval_required; default 25 s, negative: not at
	// all. AskKeep is how long the question can be answered; default 15 min.
	AskWait, AskKeep time.Duration
	// Remember keeps the answer "always". Nil: the answer holds for the session.
	Remember func(permission.Grant) error
	// Flows returns what is private, and what may carry it out, and what happens then. It is called for each call and must
	// be fast. Nil: what is said nowhere else counts, and a flow asks.
	Flows func() *Flows
	// Taints keeps what servers were given and clients know; nil: in memory.
	Taints TaintStore
	// Mode returns that of sessions that don't say. It is called for each decision. Nil: permission.Default.
	Mode func() permission.Mode

	// Lazy leaves servers alone until a call needs one; until then what is remembered of them is all that is known.
	Lazy bool

	// Command is how hints call the usher command, such as "usher --config FILE"; default "usher".
	Command string
	// Redact takes known secrets out of what is said about failures; nil: nothing is known. It returns its argument
	// where it finds none, and is safe for concurrent use.
	Redact func([]byte) []byte

	// Errors adds to the table of what failures are called and what agents read of them; nil: the built-in one. See also
	// Host.SetWords.
	Errors *fault.Table
	// Language is of what agents read where their session doesn't say otherwise; default English.
	Language fault.Language

	Log         event.Log
	HostSession string // the session of the host's own events; empty: they aren't recorded
	Info        mcp.Implementation
	// Woke counts how often the machine has woken from sleep or changed its network, which remote connections may not have
	// survived. Each remote call asks for it, so it must be fast. Nil: nobody counts. See also Host.Nudge.
	Woke func() uint64
	// Store keeps what servers offer over restarts, so that the first listing is there at once; nil: nothing is kept.
	Store Store
	Clock event.Clock                // default time.Now; measures how long calls took
	NewID func(prefix string) string // default random
}

// Host holds the servers and the sessions that use them. All methods are safe for concurrent use.
type Host struct {
	o         Options
	router    *router.Router
	local     *hosted
	servers   servers
	ctx       context.Context // the host's life
	cancel    context.CancelFunc
	last      context.Context // ends a while after the host's life: what its end has to write is written in it
	letGo     context.CancelFunc
	forget    func() bool // lets go of the context that Open was given
	listed    atomic.Pointer[listing]
	words     atomic.Pointer[words]
	flows     *flow.Book
	approvals *approval.Queue
	open      sync.WaitGroup // sessions that have not ended
	over      chan struct{}  // closed when Close is done

	mu       sync.Mutex
	closed   bool
	sessions map[*Session]struct{}
	changed  map[*Session]func() // told when the table changes
}

// Open makes a Host and starts its servers in the background. A server that doesn't come up stops nothing else. ctx is
// the life of the host: when it ends, so does everything that the host started; Close waits for that.
func Open(ctx context.Context, o Options) (*Host, error) {
	if o.Log == nil {
		return nil, errors.New("usher.Open: Options.Log is missing; nothing runs unrecorded")
	}
	o = o.withDefaults()
	life := ctx
	h := &Host{
		o: o, router: router.New(), over: make(chan struct{}),
		sessions: map[*Session]struct{}{}, changed: map[*Session]func(){},
	}
	h.ctx, h.cancel = context.WithCancel(context.WithValue(life, lifeOf{h}, true))
	h.SetWords(o.Errors, o.Language)
	h.last, h.letGo = context.WithCancel(context.WithoutCancel(life))
	h.flows = flow.New(h.last, flow.Options{
		Store: o.Taints, Report: h.storeFailed, Inherit: func() time.Duration { return o.Flows().inherit },
	})
	h.approvals = approval.New(approval.Options{
		Store: o.Questions, Elsewhere: o.Questions != nil, Wait: max(o.AskWait, 0), Keep: o.AskKeep,
	})
	h.servers.init(o.Store, o.Redact, h.storeFailed)
	if err := h.openServers(); err != nil {
		_ = h.Close()
		return nil, err
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

// words are how failures are told.
type words struct {
	errors   *fault.Table
	language fault.Language
}

// SetWords takes the place of Options.Errors and Options.Language, for calls that fail from now on.
func (h *Host) SetWords(errors *fault.Table, l fault.Language) { h.words.Store(&words{errors, l}) }

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
	if o.Mode == nil {
		o.Mode = func() permission.Mode { return permission.Default }
	}
	if o.AskWait == 0 {
		o.AskWait = 25 * time.Second
	}
	if o.Flows == nil {
		usual := NewFlows(FlowAsk, nil, flow.DefaultInherit)
		o.Flows = func() *Flows { return usual }
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

// record writes events of the host itself. They are never waited for.
func (h *Host) record(d ...event.Data) {
	if h.o.HostSession != "" {
		_, _ = h.o.Log.Append(context.Background(), h.o.HostSession, d...) // the log remembers why it fails and refuses calls
	}
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

// Ready waits until each server has come up or failed for the first time, or until ctx ends.
func (h *Host) Ready(ctx context.Context) {
	for _, s := range h.servers.all() {
		s.up.Settle(ctx)
	}
}

// lastTime bounds what the end of all sessions may take to write down.
const lastTime = 5 * time.Second

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
	defer time.AfterFunc(lastTime, h.letGo).Stop()
	defer h.letGo()
	h.cancel() // ends questions, calls and dials
	killpoint.At("host.closing")
	for _, s := range sessions {
		s.Close("host_closed")
	}
	h.closeServers()
	h.open.Wait()
	err := h.approvals.Close()
	killpoint.At("host.closed")
	return err
}

// Questions are what persons are asked about calls of this host, and of others that share Options.Questions.
func (h *Host) Questions() *Questions { return h.approvals }
