package usher

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/mcp"
)

const (
	maxPreview = 8 << 10 // bytes of a result that lie whole in tool.completed (H4)
	cutPreview = 512     // what is left of a longer one
)

func (s *Session) begin(req *mcp.Message, p mcp.Peer) *call {
	return &call{s: s, id: s.h.o.NewID("tc_"), req: req, peer: p, events: make([]event.Data, 0, 5)}
}

func (c *call) isLocal() bool { return c.tool != nil && c.tool.Server == "" }

func (c *call) add(d event.Data) { c.events = append(c.events, d) }

// flush hands the events so far to the log. Events that it doesn't take are dropped: the call is refused then.
func (c *call) flush(ctx context.Context) (event.Mark, error) {
	events := c.events
	c.events = c.events[:0]
	return c.s.h.o.Log.Append(ctx, c.s.id, events...)
}

// timeout is how long the server may have the call.
func (s *Session) timeout(c *call) time.Duration {
	if d, ok := s.h.limits[c.tool.Server]; ok {
		return d
	}
	return s.o.CallTimeout
}

// finish ends the call in the log and waits until that is durable: what was answered is in the log. A log that fails
// only now takes nothing away from an answer that is there; the log refuses the next call.
func (s *Session) finish(ctx context.Context, c *call, err error) (*mcp.Message, error) {
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		c.completed()
	} else {
		err = c.failed(err)
	}
	killpoint.At("call.finishing")
	if mark, e := c.flush(ctx); e == nil {
		killpoint.At("call.finished.queued")
		_ = s.h.o.Log.Wait(ctx, mark)
	}
	killpoint.At("call.finished.durable")
	return c.answer, err
}

func (c *call) completed() {
	if !c.isLocal() {
		c.add(event.CallCompleted{Server: c.tool.Server, ToolCallID: c.id, DurationMs: c.clock.ms()})
	}
	c.add(event.ToolCompleted{
		Tool: c.name, ToolCallID: c.id, ResultPreview: preview(c.answer.Result), ResultSize: len(c.answer.Result),
		IsError: mcp.IsError(c.answer.Result),
	})
}

// failed names the tool in the error, which so far knew only what went wrong.
func (c *call) failed(err error) error {
	e := *fault.Of(c.s.h.redactError(err))
	e.Tool = c.name
	if c.tool != nil {
		e.Server = c.tool.Server
	}
	text := e.Text(fault.English)
	if c.clock.running() && !c.isLocal() {
		c.add(event.CallFailed{
			Server: c.tool.Server, ToolCallID: c.id, DurationMs: c.clock.ms(), Code: e.Code, Kind: e.Kind.Family(), Message: text,
		})
	}
	c.add(event.ToolFailed{Tool: c.name, ToolCallID: c.id, Reason: string(e.Kind), Message: text})
	return &e
}

// preview is the part of a result that a person reads in the log: its text, else the raw result.
func preview(result []byte) string {
	text := mcp.ResultText(result)
	if text == "" {
		text = string(result[:min(len(result), maxPreview+1)])
	}
	if len(text) > maxPreview {
		text = text[:cutPreview]
	}
	return strings.ToValidUTF8(text, "")
}

// stopwatch measures how long a server had a call.
type stopwatch struct {
	now   event.Clock
	begun time.Time
}

func (w *stopwatch) start(now event.Clock) { w.now, w.begun = now, now() }

func (w *stopwatch) running() bool { return w.now != nil }

func (w *stopwatch) ms() int64 {
	if w.now == nil {
		return 0
	}
	return w.now().Sub(w.begun).Milliseconds()
}

// progressEvery is the least time between two progress events of one call.
const progressEvery = 250 * time.Millisecond

// watchProgress records a call's progress on its way to the caller.
func (s *Session) watchProgress(c *call) mcp.Peer {
	if c.isLocal() {
		return c.peer
	}
	return &progressPeer{Peer: c.peer, c: c}
}

type progressPeer struct {
	mcp.Peer
	c    *call
	mu   sync.Mutex
	last time.Time
}

func (p *progressPeer) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.NotifyProgress && p.due() {
		_, _ = p.c.s.h.o.Log.Append(ctx, p.c.s.id, event.CallProgress{
			Server: p.c.tool.Server, ToolCallID: p.c.id, Progress: mcp.Member(m.Params, "progress"),
			Total: mcp.Member(m.Params, "total"), Message: mcp.Text(mcp.Member(m.Params, "message")),
		})
	}
	p.Peer.Notify(ctx, m)
}

func (p *progressPeer) due() bool {
	now := p.c.s.h.o.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() && now.Sub(p.last) < progressEvery {
		return false
	}
	p.last = now
	return true
}
