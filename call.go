package usher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/killpoint"
	"github.com/usher-mcp/usher/internal/upstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

const (
	maxPreview = 8 << 10 // bytes of a result that lie whole in tool.completed (H4)
	cutPreview = 512     // what is left of a longer one
)

func (s *Session) begin(req *mcp.Message, p mcp.Peer) *call {
	c := &call{s: s, id: s.h.o.NewID("tc_"), req: req, peer: p}
	c.events = c.room[:0]
	return c
}

func (c *call) isLocal() bool { return c.tool != nil && c.tool.Server == "" }

func (c *call) add(d event.Data) { c.events = append(c.events, d) }

// flush hands the events so far to the log. Events that it doesn't take are dropped: the call is refused then.
func (c *call) flush() (event.Mark, error) {
	events := c.events
	c.events = c.events[:0]
	mark, err := c.s.h.o.Log.Append(context.Background(), c.s.id, events...)
	if err != nil {
		return mark, logUnavailable(err)
	}
	return mark, nil
}

// limits are how long the server may have the call without a sign of life, and in all (D2). The clients of a gateway have
// clocks of their own: there only what the server's entry says limits the silence.
func (s *Session) limits(c *call) (idle, hard time.Duration) {
	life := c.server.lifecycle()
	idle = cmp.Or(s.o.CallTimeout, c.server.CallTimeout)
	if idle == 0 && s.o.CallLimit == 0 {
		idle = life.Request
	}
	return idle, max(cmp.Or(s.o.CallLimit, life.Hard), s.o.CallTimeout)
}

// sending is the last moment before a byte leaves: the log has all events up to tool.started, and for a call above a
// read they are durable. The clock runs from the first of them, so that whatever happens next has its end in the log.
func (c *call) sending(ctx context.Context, req *mcp.Message, attempt int, last error) error {
	h := c.s.h
	if err := c.stillThat(); err != nil {
		return err
	}
	if err := c.stillAllowed(); err != nil {
		return err
	}
	if err := c.samePackage(); err != nil {
		return err
	}
	if err := c.carries(); err != nil {
		return err
	}
	c.keep()
	if !c.isLocal() {
		if attempt > 1 && c.clock.running() {
			c.add(c.callFailed(fault.Of(h.redactError(last))))
		}
		c.said.sent = event.CallStarted{Server: c.tool.Server, ToolCallID: c.id, Method: req.Method, Args: h.shown(c.sentArgs(req))}
		c.add(&c.said.sent)
	}
	if !c.clock.running() {
		c.said.started = event.ToolStarted{Tool: c.name, ToolCallID: c.id}
		c.add(&c.said.started)
	}
	killpoint.At("call.sending")
	mark, err := c.flush()
	if err != nil {
		return err
	}
	c.clock.start(h.o.Clock)
	killpoint.At("call.started.queued")
	if c.risk > permission.Read {
		if err := h.o.Log.Wait(ctx, mark); err != nil {
			return waitFailed(ctx, err)
		}
	}
	killpoint.At("call.started.durable")
	return nil
}

// stillThat refuses a call whose tool became another one since it was decided: its server had to start first, and what
// was known of it was from before.
func (c *call) stillThat() error {
	table := c.s.h.router.Table()
	if c.table == table {
		return nil
	}
	if now := table.Find(c.tool.Target); now != nil && now.Hash == c.tool.Hash {
		c.table = table
		return nil
	}
	return &fault.Error{
		Kind: fault.ApprovalRequired, Detail: "its server now defines it in another way, or no longer",
		Hint: "Look at the list of tools and call again: it is decided anew",
	}
}

// waitFailed tells a log that fails from a caller that left.
func waitFailed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return logUnavailable(err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &fault.Error{Kind: fault.Timeout, Detail: "the event log took too long", Cause: err}
	}
	return &fault.Error{Kind: fault.Cancelled, Detail: "before it was sent", Cause: err}
}

func logUnavailable(err error) error {
	e := fault.Of(err)
	return &fault.Error{Kind: fault.LogUnavailable, Cause: err, Detail: e.Detail, Hint: e.Hint}
}

// finish ends the call in the log and waits until that is durable: what was answered is in the log. A log that fails
// only now takes nothing away from an answer that is there; the log refuses the next call.
func (s *Session) finish(c *call, err error) (*mcp.Message, error) {
	if err == nil {
		c.completed()
	} else {
		err = c.failed(err)
	}
	killpoint.At("call.finishing")
	if mark, e := c.flush(); e == nil {
		killpoint.At("call.finished.queued")
		_ = s.h.o.Log.Wait(context.Background(), mark) // whatever became of the caller
	}
	killpoint.At("call.finished.durable")
	return c.answer, err
}

func (c *call) completed() {
	if !c.isLocal() {
		c.said.answered = event.CallCompleted{Server: c.tool.Server, ToolCallID: c.id, DurationMs: c.clock.ms()}
		c.add(&c.said.answered)
	}
	c.said.completed = event.ToolCompleted{
		Tool: c.name, ToolCallID: c.id, ResultPreview: c.s.h.preview(c.answer.Result), ResultSize: len(c.answer.Result),
		IsError: mcp.IsError(c.answer.Result),
	}
	if err := c.tool.CheckResult(c.answer.Result); err != nil {
		c.said.completed.Findings = []string{c.s.h.redactedCut("not as its outputSchema says: " + err.Error())}
	}
	c.add(&c.said.completed)
}

// failed names the tool in the error, which so far knew only what went wrong.
func (c *call) failed(err error) error {
	e := new(fault.Error)
	*e = *c.s.h.words.Load().errors.Sort(fault.Of(c.s.h.redactError(err)))
	e.Tool = c.name
	if c.tool != nil {
		e.Server = c.tool.Server
	}
	if e.Hint == "" {
		e.Hint = c.nextStep(e.Kind)
	}
	text := c.s.h.redactedCut(e.Text(fault.English))
	if c.clock.running() && !c.isLocal() {
		c.add(c.callFailed(e))
	}
	c.add(event.ToolFailed{Tool: c.name, ToolCallID: c.id, Reason: string(e.Kind), Message: text})
	return e
}

// callFailed is the end of one attempt.
func (c *call) callFailed(e *fault.Error) event.CallFailed {
	return event.CallFailed{
		Server: c.tool.Server, ToolCallID: c.id, DurationMs: c.clock.ms(), Code: e.Code, Kind: e.Kind.Family(),
		Message: c.s.h.redactedCut(e.Text(fault.English)),
	}
}

// nextStep is the hint for a failure that brought none.
func (c *call) nextStep(k fault.Kind) string {
	switch k {
	case fault.TooLarge:
		return "Ask it for less, such as a page or a part"
	case fault.Unavailable, fault.Restarted, fault.Protocol, fault.Auth:
		switch {
		case c.tool == nil || c.isLocal():
		case c.server != nil && c.server.up.State() == upstream.Failed && c.server.lifecycle().Restart.Enabled:
			return "To start it again, run: " + c.s.h.o.Command + " servers restart " + shellWord(c.tool.Server)
		default:
			return "To see why, run: " + c.s.h.o.Command + " doctor " + shellWord(c.tool.Server)
		}
	}
	return ""
}

// preview is the part of a result that a person reads in the log: its text, else the raw result. Secrets are taken out
// before it is cut, lest the cut leave half of one.
func (h *Host) preview(result []byte) string {
	text := mcp.ResultPreview(result, maxPreview+1)
	if text == "" {
		text = string(result[:min(len(result), maxPreview+1)])
	}
	if len(text) > maxPreview {
		text = h.redact(text)
		text = text[:min(len(text), cutPreview)]
	}
	return strings.ToValidUTF8(text, "")
}

// redactedCut is what an event shows of text that a server chose.
func (h *Host) redactedCut(text string) string {
	return mcp.Cut(h.redact(text[:min(len(text), maxPreview)]), cutPreview)
}

// shown is what an event shows of JSON that others chose: the whole up to 8 KiB, else its beginning as a string, from
// which secrets are taken out before it is cut.
func (h *Host) shown(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxPreview {
		return raw
	}
	begin := h.redact(string(raw[:maxPreview]))
	return mcp.Quote(fmt.Sprintf("%s… [%d bytes]", strings.ToValidUTF8(begin[:min(len(begin), cutPreview)], ""), len(raw)))
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
		h := p.c.s.h
		_, _ = h.o.Log.Append(ctx, p.c.s.id, event.CallProgress{
			Server: p.c.tool.Server, ToolCallID: p.c.id, Progress: number(mcp.Member(m.Params, "progress")),
			Total: total(mcp.Member(m.Params, "total")), Message: h.redactedCut(mcp.Text(mcp.Member(m.Params, "message"))),
		})
	}
	p.Peer.Notify(ctx, m)
}

func total(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return number(raw)
}

// number keeps what is one; a server may send anything.
func number(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) > 32 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return json.RawMessage("0")
	}
	return raw
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
