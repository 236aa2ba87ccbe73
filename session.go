package usher

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/internal/upstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// kind is how one kind of request takes the path.
type kind struct {
	resolve func(context.Context, *call) error // finds what the request names, and the server that has it
	request func(*call) *mcp.Message           // what that server gets
	inspect func(*call) error                  // looks at its answer before anyone else does
}

// kinds are the requests that cross the trust boundary. A method that isn't here reaches no server.
var kinds = map[string]*kind{
	mcp.MethodCallTool: {resolve: resolveTool, request: toolRequest, inspect: inspectTool},
}

// call is one request on its way. It belongs to one goroutine, but for its progress.
type call struct {
	s    *Session
	id   string // toolCallId in all its events
	req  *mcp.Message
	peer mcp.Peer

	name   string // as the caller wrote it; after resolve canonical
	args   json.RawMessage
	tool   *router.Tool
	server *hosted
	table  *router.Table      // that the tool was found in
	policy *permission.Policy // that decided
	risk   permission.Risk
	traits flow.Traits
	flow   *flow.Flow // what it could carry out; nil: nothing
	bound  string     // the package that the answer was for which let the call in; empty: none is known
	pid    int        // of the process that the attempt goes to
	pack   string     // what that runs
	lasts  *lasting   // an answer that is to be kept; nil: none

	events []event.Data // not yet in the log; they go in together, in order
	said   struct {     // the events of nearly every call, which lie here and not in memory of their own
		requested event.ToolCallRequested
		asks      event.PermissionRequested
		resolved  event.PermissionResolved
		sent      event.CallStarted
		started   event.ToolStarted
		answered  event.CallCompleted
		completed event.ToolCompleted
	}
	room   [5]event.Data // for events
	clock  stopwatch     // runs while the server has the call
	answer *mcp.Message
}

// do is the one path of everything that crosses the trust boundary. It emits every event of the call. The error is a
// *fault.Error; where a server answered with a JSON-RPC error, that answer comes with it.
func (s *Session) do(ctx context.Context, k *kind, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if !s.enter() {
		return nil, &fault.Error{Kind: fault.Cancelled, Detail: "the session is closed", Cause: ErrClosed}
	}
	defer s.leave()
	killpoint.At("call.begin")
	c := s.begin(req, p)
	err := k.resolve(ctx, c)
	killpoint.At("call.resolved")
	if err == nil {
		err = s.decide(ctx, c)
	}
	killpoint.At("call.decided")
	if err == nil {
		err = s.perform(ctx, c, k.request(c))
		c.carried()
	}
	killpoint.At("call.performed")
	if err == nil {
		err = k.inspect(c)
	}
	return s.finish(c, err)
}

// perform sends the request. It ends with the call's time, with its caller, and with the host.
func (s *Session) perform(ctx context.Context, c *call, req *mcp.Message) (err error) {
	if !s.h.owns(ctx) {
		owned, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.h.ctx, cancel)()
		ctx = owned
	}
	idle, hard := s.limits(c)
	if endsWithin(ctx, hard) {
		hard = 0
	}
	c.answer, err = c.server.up.Do(ctx, upstream.Call{
		Request: req, Peer: c.asPeer(), Tool: c.tool.Tool, Owner: &s.owner, Idle: idle, Hard: hard, PID: &c.pid,
		Sending: func(ctx context.Context, attempt int, last error) error { return c.sending(ctx, req, attempt, last) },
	})
	return err
}

// endsWithin spares a clock where one that a front made is as strict.
func endsWithin(ctx context.Context, limit time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= limit
}

// Handle answers the requests of an agent: tools/list and tools/call; of anything else it says that there is no such
// method. A call that usher refuses, or that fails on its way, is answered with a result that says so to the model
// (isError), as the specification asks for failures that a model can do something about; only an unknown name is a
// JSON-RPC error. The error is always nil.
func (s *Session) Handle(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	if req.IsNotification() {
		return nil, nil
	}
	if req.Method == mcp.MethodListTools {
		return mcp.Answer(req.ID, s.listTools(ctx)), nil
	}
	k := kinds[req.Method]
	if k == nil {
		return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no method "+req.Method, nil), nil
	}
	answer, err := s.do(ctx, k, req, p)
	switch {
	case answer != nil:
		answer.ID = req.ID
		return answer, nil
	case fault.KindOf(err) == fault.NotFound:
		return mcp.ErrorAnswer(req.ID, mcp.CodeInvalidParams, s.text(err), nil), nil
	}
	return mcp.Answer(req.ID, mcp.TextResult(s.text(err), true)), nil
}

// text is what the agent reads of a failure.
func (s *Session) text(err error) string {
	w := s.h.words.Load()
	return w.errors.Text(fault.Of(err), cmp.Or(s.o.Language, w.language))
}

var _ mcp.Handler = (*Session)(nil)
