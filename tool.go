package usher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// settleTime is how long a listing, and a name that nothing bears, waits for servers that are still starting.
const settleTime = 5 * time.Second

func resolveTool(ctx context.Context, c *call) error {
	c.name, c.args = mcp.Text(mcp.Member(c.req.Params, "name")), mcp.Member(c.req.Params, "arguments")
	c.said.requested = event.ToolCallRequested{ToolCallID: c.id, Tool: c.name, Args: c.s.h.shown(c.args), Caller: c.s.o.Client}
	c.add(&c.said.requested)
	if err := plainKeys(c.req.Params); err != nil {
		return err
	}
	c.table = c.s.h.router.Table()
	tool, err := c.s.resolve(c.table, c.name)
	if unknown, ok := errors.AsType[*router.Unknown](err); ok {
		tool, err = c.resolveLate(ctx, unknown)
	}
	if err != nil {
		return c.unresolved(err)
	}
	c.tool, c.name, c.server = tool, tool.Name, c.s.h.server(tool.Server)
	c.said.requested.Tool = c.name // the log holds one name for one tool
	if err := c.restoreNames(); err != nil {
		return err
	}
	c.risk = c.s.h.o.Policy().RiskOf(tool.Target, tool.Hash, tool.Risk)
	if c.server == nil {
		return &fault.Error{Kind: fault.Unavailable, Detail: "it is no longer configured"}
	}
	return nil
}

// plainKeys refuses parameters with a second spelling of a key that is decided by: servers that read keys without their
// case, or up to a NUL, would run what no rule saw and no person was shown (J1).
func plainKeys(params json.RawMessage) error {
	for key := range mcp.Members(params) {
		switch string(key) {
		case `"name"`, `"arguments"`, `"_meta"`:
			continue
		}
		text := mcp.Text(key)
		for _, known := range [...]string{"name", "arguments", "_meta"} {
			if begin, _, _ := strings.Cut(text, "\x00"); text != known && strings.EqualFold(begin, known) {
				return &fault.Error{
					Kind: fault.InvalidParams, Detail: fmt.Sprintf("its parameter %q is spelled otherwise", known), Hint: "Spell it as the protocol does, once",
				}
			}
		}
	}
	return nil
}

// resolve finds the tool of a name. In a session of one server its own names come first.
func (s *Session) resolve(table *router.Table, name string) (*router.Tool, error) {
	if s.o.Server != "" {
		if t := table.Find(permission.Target{Server: s.only(), Tool: name}); t != nil {
			return t, nil
		}
	}
	return table.Resolve(name, s.hidden())
}

// restoreNames puts the names of properties back that a repaired schema had to change.
func (c *call) restoreNames() error {
	if !c.s.o.RepairSchemas || !c.tool.ForModel().Renamed() {
		return nil
	}
	args, err := c.tool.ForModel().Arguments(c.args)
	if err != nil {
		return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error(), Hint: "Correct the arguments and call again"}
	}
	c.args = args
	req := *c.req
	req.Params = mcp.SetMember(req.Params, "arguments", args)
	c.req = &req
	return nil
}

// resolveLate gives a server that is starting, or was down, the chance to bring the tool.
func (c *call) resolveLate(ctx context.Context, unknown error) (*router.Tool, error) {
	s := c.s
	server := s.h.named(c.name)
	if s.o.Server != "" {
		server = s.h.server(s.only())
	}
	limit := settleTime
	if server != nil {
		limit = cmp.Or(s.o.CallTimeout, s.o.CallLimit, server.lifecycle().Request)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case server != nil:
		if err := server.up.Ready(ctx); err != nil {
			return nil, err
		}
	case !s.h.settle(ctx):
		return nil, unknown
	}
	c.table = s.h.router.Table()
	return s.resolve(c.table, c.name)
}

// named returns the server whose tools' names begin as this one. A server's name that could be read two ways finds the
// longer one; the result is never used to decide which tool is called.
func (h *Host) named(name string) (found *hosted) {
	longest := 0
	for n, s := range h.servers.all() {
		if len(n) > longest && (strings.HasPrefix(name, "mcp."+n+".") || strings.HasPrefix(name, "mcp__"+n+"__")) {
			found, longest = s, len(n)
		}
	}
	return found
}

func (c *call) unresolved(err error) error {
	if ambiguous, ok := errors.AsType[*router.Ambiguous](err); ok {
		c.add(event.ToolAmbiguous{Tool: c.name, Candidates: ambiguous.Candidates})
		return &fault.Error{Kind: fault.NotFound, Tool: c.name, Detail: ambiguous.Error()}
	}
	if unknown, ok := errors.AsType[*router.Unknown](err); ok {
		c.add(event.ToolUnknown{Tool: c.name, Nearest: unknown.Nearest})
		e := &fault.Error{Kind: fault.NotFound, Tool: c.name, Detail: unknown.Error()}
		if len(unknown.Nearest) == 0 {
			e.Hint = "To see what there is, run: " + c.s.h.o.Command + " tools"
		}
		return e
	}
	return err
}

// toolRequest gives the server its own name for the tool, and leaves all else as the caller wrote it.
func toolRequest(c *call) *mcp.Message {
	return mcp.Request(c.req.ID, mcp.MethodCallTool, mcp.SetMember(c.req.Params, "name", mcp.Quote(c.tool.Tool)))
}

// sentArgs is what mcp.call.started shows: the parameters without `_meta`, which is the hop's own business.
func (c *call) sentArgs(req *mcp.Message) json.RawMessage {
	return mcp.SetMember(req.Params, "_meta", nil)
}

// inspectTool turns a JSON-RPC error into the failure that it is; what its code means is the table's to say.
func inspectTool(c *call) error {
	if e := c.answer.Err(); e != nil {
		return &fault.Error{Kind: fault.ServerError, Code: e.Code, Detail: mcp.Cut(e.Message, router.MaxDescription)}
	}
	return nil
}
