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
	"github.com/usher-mcp/usher/permission"
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
	mark, err := c.s.h.o.Log.Append(ctx, c.s.id, events...)
	if failed := &c.s.h.logFailed; failed.Load() != (err != nil) {
		failed.Store(err != nil)
	}
	if err != nil {
		return mark, logUnavailable(err)
	}
	return mark, nil
}

// timeout is how long the server may have the call.
func (s *Session) timeout(c *call) time.Duration {
	if d, ok := s.h.limits[c.tool.Server]; ok {
		return d
	}
	return s.o.CallTimeout
}

// sending is the last moment before a byte leaves. A call above a read has its events in the log then, as durable as
// the log makes them. Those of a read may be written while the server works, unless the log has failed before.
func (c *call) sending(ctx context.Context, req *mcp.Message) error {
	if !c.isLocal() {
		c.add(event.CallStarted{Server: c.tool.Server, ToolCallID: c.id, Method: req.Method, Args: c.sentArgs(req)})
	}
	c.add(event.ToolStarted{Tool: c.name, ToolCallID: c.id})
	killpoint.At("call.sending")
	h := c.s.h
	if c.risk > permission.Read || c.isLocal() || h.logFailed.Load() {
		if err := c.started(); err != nil {
			return err
		}
	}
	if c.risk > permission.Read {
		if err := h.o.Log.Wait(ctx, c.mark); err != nil {
			return logUnavailable(err)
		}
	}
	c.clock.start(h.o.Clock)
	killpoint.At("call.started.durable")
	return nil
}

// started puts the events up to tool.started into the log, once, whoever comes first.
func (c *call) started() error {
	c.once.Do(func() {
		c.mark, c.logErr = c.flush(context.Background())
		killpoint.At("call.started.queued")
	})
	return c.logErr
}

func logUnavailable(err error) error {
	e := fault.Of(err)
	return &fault.Error{Kind: fault.LogUnavailable, Cause: err, Detail: e.Detail, Hint: e.Hint}
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

// asPeer is the peer that the server sees: it records the call's progress on its way to the caller.
func (c *call) asPeer() mcp.Peer {
	if c.isLocal() {
		return c.peer
	}
	return &callPeer{Peer: c.peer, c: c}
}

type callPeer struct {
	mcp.Peer
	c    *call
	mu   sync.Mutex
	last time.Time
}

var _ mcp.SentPeer = (*callPeer)(nil)

// Sent uses the time that the server takes: what a read has for the log until then needn't be there before.
func (p *callPeer) Sent() { _ = p.c.started() }

func (p *callPeer) Notify(ctx context.Context, m *mcp.Message) {
	if m.Method == mcp.NotifyProgress && p.due() && p.c.started() == nil {
		_, _ = p.c.s.h.o.Log.Append(ctx, p.c.s.id, event.CallProgress{
			Server: p.c.tool.Server, ToolCallID: p.c.id, Progress: mcp.Member(m.Params, "progress"),
			Total: mcp.Member(m.Params, "total"), Message: mcp.Text(mcp.Member(m.Params, "message")),
		})
	}
	p.Peer.Notify(ctx, m)
}

func (p *callPeer) due() bool {
	now := p.c.s.h.o.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() && now.Sub(p.last) < progressEvery {
		return false
	}
	p.last = now
	return true
}
