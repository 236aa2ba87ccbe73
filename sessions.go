package usher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/internal/upstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// SessionOptions describe one agent's session.
type SessionOptions struct {
	Kind string // agent, gateway or library (the default)
	// Server makes this the session of one server alone, whose tools have their own names; LocalTools stands for the
	// built-in ones. Empty: it sees all tools, under names that tell them apart.
	Server string
	Client string // who uses it, for the log, for questions and for rules
	// Principal is whom it acts for, such as a user's name; empty: nobody knows.
	Principal string
	Mode      permission.Mode // permission.Default: the host's
	// AskWait is how long a call waits for an answer; default the host's, negative: not at all.
	AskWait time.Duration
	// CallTimeout is how long a call may stay without answer or progress; default what its server's entry says, else
	// Lifecycle.Request, or no such limit where there is a CallLimit.
	CallTimeout time.Duration
	CallLimit   time.Duration    // no call may take longer in all; default Lifecycle.Hard
	Asker       permission.Asker // asks a person for this session; nil: the host's
	Language    fault.Language   // of what the agent reads; default the host's
	// RepairSchemas is for an agent that hands Tool.InputSchema to a model API itself: it is then one that such APIs take,
	// and arguments that a model made after it are translated back. Clients of the gateway repair for themselves.
	RepairSchemas bool
	// Changed is told, without being waited for, that Tools changed. It must not block. Nil: nobody is told.
	Changed func()
}

// Session is one agent's way through the host: its events, and what it was allowed. All methods are safe for
// concurrent use.
type Session struct {
	h     *Host
	id    string
	o     SessionOptions
	owner upstream.Owner // stands for the session where a server gives each one a connection of its own
	flow  *flow.Session  // what it took in

	mu      sync.Mutex
	grants  map[permission.Target]bond // what was allowed, as it was then
	running int                        // calls under way
	closing string                     // why it ends; empty while it goes on
}

// ErrClosed says that the host or the session has been closed.
var ErrClosed = errors.New("usher: it is closed")

// Session begins a session. It fails when the host is closed or the log can't take its first event.
func (h *Host) Session(o SessionOptions) (*Session, error) {
	if o.Kind == "" {
		o.Kind = "library"
	}
	s := &Session{h: h, id: h.o.NewID("s_"), o: o, grants: map[permission.Target]bond{}}
	s.flow = h.flows.Session(o.Principal, o.Client)
	if err := h.begin(s); err != nil {
		return nil, err
	}
	killpoint.At("session.started")
	return s, nil
}

// begin counts the session, unless the host is closed, and writes its first event: Close waits for all that count.
func (h *Host) begin(s *Session) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	h.open.Add(1)
	h.sessions[s] = struct{}{}
	if s.o.Changed != nil {
		h.changed[s] = s.o.Changed
	}
	h.mu.Unlock()
	if _, err := h.o.Log.Append(context.Background(), s.id, event.SessionStarted{Kind: s.o.Kind, Client: s.o.Client}); err != nil {
		s.Close("log_unavailable")
		return fmt.Errorf("a session can't begin: %w", err)
	}
	return nil
}

// ID is the session's name in the log.
func (s *Session) ID() string { return s.id }

// Close ends the session, with a reason for the log such as "closed". It is idempotent and waits for nothing: calls
// under way go on, new ones are refused, and the log has the session's end behind the last call's.
func (s *Session) Close(reason string) {
	s.mu.Lock()
	first := s.closing == ""
	if first {
		s.closing = reason
	}
	idle := s.running == 0
	s.mu.Unlock()
	if !first {
		return
	}
	s.h.mu.Lock()
	delete(s.h.changed, s)
	s.h.mu.Unlock()
	if idle {
		s.ended()
	}
}

// enter lets a call begin, unless the session is closing. leave follows it.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != "" {
		return false
	}
	s.running++
	return true
}

func (s *Session) leave() {
	s.mu.Lock()
	s.running--
	last := s.running == 0 && s.closing != ""
	s.mu.Unlock()
	if last {
		s.ended()
	}
}

func (s *Session) ended() {
	_, _ = s.h.o.Log.Append(context.Background(), s.id, event.SessionEnded{Reason: s.closing})
	s.flow.Close()
	_ = s.h.approvals.End(s.h.last, s.id) // if it can't be written, the session counts as ended with the process
	killpoint.At("session.ended")
	for _, server := range s.h.servers.all() {
		server.up.Release(&s.owner)
	}
	s.h.mu.Lock()
	delete(s.h.sessions, s)
	s.h.mu.Unlock()
	s.h.open.Done()
}

// Record appends events of the session's own to its log, such as that a client connected.
func (s *Session) Record(d ...event.Data) {
	_, _ = s.h.o.Log.Append(context.Background(), s.id, d...)
}

// Result is what a tool answered.
type Result struct {
	Raw     json.RawMessage // the whole result as the server sent it
	IsError bool            // the tool says that it failed
}

// Text returns the text blocks, joined by line ends.
func (r *Result) Text() string { return mcp.ResultText(r.Raw) }

// Call calls a tool by its canonical name, its name for models, or a local tool's bare name. Args is a JSON object or
// nil. The error is a *fault.Error: the call was refused, or failed on its way; a tool's own failure is a Result.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (*Result, error) {
	if args == nil {
		args = json.RawMessage(`{}`)
	}
	if err := mcp.Validate(args); err != nil {
		return nil, &fault.Error{Kind: fault.InvalidParams, Tool: name, Detail: err.Error()}
	}
	params := mcp.SetMember(mcp.SetMember(nil, "name", mcp.Quote(name)), "arguments", args)
	answer, err := s.do(ctx, kinds[mcp.MethodCallTool], mcp.Request("0", mcp.MethodCallTool, params), mcp.Nobody)
	if err != nil {
		return nil, err
	}
	return &Result{Raw: answer.Result, IsError: mcp.IsError(answer.Result)}, nil
}

// Tool is one tool that the session may see.
type Tool struct {
	Name        string          // canonical
	Model       string          // toward model APIs
	Server      string          // empty for a local tool
	Description string          // as the server gave it
	Risk        permission.Risk // with the user's labels
	Hash        string          // digest of the definition
	Definition  json.RawMessage // as the server gave it
	InputSchema json.RawMessage // for the model, see SessionOptions.RepairSchemas
	Effect      permission.Effect
}

// Tools lists what the session may see, local tools first, then by name. Denied tools are left out. It waits for
// nothing.
func (s *Session) Tools() []Tool {
	return slices.DeleteFunc(s.AllTools(), func(t Tool) bool { return t.Effect == permission.Deny })
}

// AllTools is Tools with those that are denied: for a person, never for a model.
func (s *Session) AllTools() []Tool {
	policy := s.h.o.Policy()
	var tools []Tool
	for _, t := range s.h.router.Table().Tools() {
		risk := policy.RiskOf(t.Target, t.Hash, t.Risk)
		d := s.outlook(policy, t, risk)
		tools = append(tools, s.toolOf(t, risk, d.Effect))
	}
	return tools
}

func (s *Session) schema(t *router.Tool) json.RawMessage {
	if s.o.RepairSchemas {
		return t.ForModel().Schema
	}
	return t.Def.InputSchema
}

// listing is a tools/list result and what it was made from.
type listing struct {
	table  *router.Table
	policy *permission.Policy
	result json.RawMessage
}

// listTools answers tools/list. Servers that are starting get a moment to bring their tools.
func (s *Session) listTools(ctx context.Context) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	s.h.settle(ctx)
	table, policy := s.h.router.Table(), s.h.o.Policy()
	if s.o.Server != "" {
		return list(table, policy, func(t *router.Tool) json.RawMessage {
			if t.Target.Server != s.only() {
				return nil
			}
			return t.PlainListing()
		})
	}
	if l := s.h.listed.Load(); l != nil && l.table == table && l.policy == policy {
		return l.result
	}
	l := &listing{table, policy, list(table, policy, (*router.Tool).Listing)}
	s.h.listed.Store(l)
	return l.result
}

// list is a tools/list result with what show gives of each tool that isn't denied.
func list(table *router.Table, policy *permission.Policy, show func(*router.Tool) json.RawMessage) json.RawMessage {
	b := []byte(`{"tools":[`)
	for _, t := range table.Tools() {
		shown := show(t)
		if shown == nil || policy.Denied(t.Target, t.Model) {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, shown...)
	}
	return append(b, `]}`...)
}

// LocalTools is SessionOptions.Server for the built-in tools; no server can be called so.
const LocalTools = "local"

// only is the server that a session of one server has.
func (s *Session) only() string {
	if s.o.Server == LocalTools {
		return ""
	}
	return s.o.Server
}

// server is where a tool's server is looked up; nil if there is none.
func (h *Host) server(name string) *hosted {
	if name == "" {
		return h.local
	}
	return h.servers.all()[name]
}

// settle waits for servers that start and of which nothing is known yet, for settleTime after the start of each: one that
// takes minutes doesn't hold up each listing meanwhile. It reports whether there were any.
func (h *Host) settle(ctx context.Context) bool {
	waited := false
	for _, s := range h.servers.all() {
		if s.shelf.Entry().Tools.Listed.IsZero() {
			s.up.Wanted() // an agent can't call what it never saw
			limited, cancel := context.WithDeadline(ctx, s.grace)
			waited = s.up.Settle(limited) || waited
			cancel()
		}
	}
	return waited
}

func localTransport(h mcp.Handler) transport.Transport { return local.New(h) }
