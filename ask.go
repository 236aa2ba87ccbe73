package usher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// Questions is a queue of what persons are asked.
type Questions = approval.Queue

// QuestionStore keeps questions over restarts.
type QuestionStore = approval.Store

// ask waits for a person's word (F5). The question is in the log before anyone sees it.
func (s *Session) ask(ctx context.Context, c *call, policy *permission.Policy, d permission.Decision, resolved event.PermissionResolved) error {
	if _, err := c.flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.h.ctx, cancel)()
	q := s.question(c, policy, d)
	answer, err := s.answer(ctx, c, q)
	if err == nil {
		resolved.Actor, resolved.Via, resolved.Principal = "user", answer.Via, answer.Principal
		resolved.SourcedFrom = "user_allow_once"
	}
	switch {
	case err != nil:
		if s.patience() > 0 && waitedInVain(err) {
			resolved.Actor = "timeout"
		}
		err = unanswered(c, d, err)
	case !answer.Allow:
		resolved.SourcedFrom = d.SourcedFrom
		err = &fault.Error{Kind: fault.PermissionDenied, Detail: "a person said no"}
	default:
		if err = s.stillSo(c, &q); err != nil {
			resolved.SourcedFrom = d.SourcedFrom
		}
	}
	if err != nil {
		c.add(resolved)
		return err
	}
	resolved.Decision = "allow"
	c.bound = cmp.Or(q.Package, c.bound)
	s.flow.Accepted(c.flow)
	s.grant(c, &q, answer.Scope, &resolved)
	c.add(resolved)
	return nil
}

// question is all that a person, and whoever keeps the question, must know.
func (s *Session) question(c *call, policy *permission.Policy, d permission.Decision) permission.Question {
	f := s.facts(c.tool, c.risk, nil)
	q := permission.Question{
		ToolCallID: c.id, Session: s.id, Principal: s.o.Principal, Client: s.o.Client, Target: c.tool.Target,
		Title: mcp.Cut(c.tool.Def.Description, router.MaxDescription), Args: c.args, Risk: c.risk, Rule: d.Rule, Reasons: reasons(c, d),
		Entry: f.Entry, Definition: f.Definition, Package: f.Package, Source: f.Source, Policy: policy.Version(),
	}
	if c.flow != nil {
		q.Flow, q.FlowOnly = c.flow.Why(), d.SourcedFrom == fromFlow
	}
	return q
}

// answer asks all who can be asked, and tells the caller meanwhile that it has to wait.
func (s *Session) answer(ctx context.Context, c *call, q permission.Question) (permission.Answer, error) {
	stop := c.waits(ctx, "waiting for a person to allow "+c.name)
	defer stop()
	return s.h.approvals.AskWithin(ctx, q, s.askers(), s.patience())
}

func (s *Session) askers() []permission.Asker {
	if s.o.Asker != nil {
		return []permission.Asker{s.o.Asker}
	}
	return []permission.Asker{s.h.o.Asker}
}

// patience is how long a call waits for an answer.
func (s *Session) patience() time.Duration {
	if s.o.AskWait < 0 {
		return 0
	}
	return cmp.Or(s.o.AskWait, s.h.o.AskWait)
}

// Unanswered is the cause of a fault.ApprovalRequired: nobody has said yes or no.
type Unanswered struct {
	ID      string           // of the question that can still be answered; empty: there is none
	Expires time.Time        // until when
	Rule    *permission.Rule // the ask rule, if one asks
	Hint    string           // what would let such calls in from then on; empty: nothing would
	Err     error            // why nobody has
}

// Error says why.
func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *Unanswered) Unwrap() error { return u.Err }

// unanswered is what a call ends with that nobody has said yes or no to.
func unanswered(c *call, d permission.Decision, err error) error {
	u := &Unanswered{Rule: d.Rule, Hint: allowHint(c, d), Err: err}
	required := &fault.Error{Kind: fault.ApprovalRequired, Detail: askedBecause(c, d), Hint: u.Hint, Cause: u}
	if open, ok := errors.AsType[*approval.Open](err); ok {
		u.ID, u.Expires = open.ID, open.Expires
		required.Hint = fmt.Sprintf("To answer, until %s: %s approvals show %s; then make the same call again", open.Expires.Local().Format("15:04"), c.s.h.o.Command, open.ID)
		if u.Hint != "" {
			required.Hint += ". " + u.Hint
		}
		return required
	}
	full, ok := errors.AsType[*approval.Full](err)
	switch {
	case ok:
		required.Detail, required.Hint = full.Error(), fmt.Sprintf("To see them: %s approvals", c.s.h.o.Command)
	case errors.Is(err, permission.ErrNobody):
	case errors.Is(err, context.Canceled):
		return &fault.Error{Kind: fault.Cancelled, Detail: "nobody had answered yet", Cause: err}
	case errors.Is(err, approval.ErrExpired), errors.Is(err, context.DeadlineExceeded):
		required.Detail = "nobody answered"
	default:
		required.Detail = "the question can't be kept: " + c.s.h.redact(err.Error())
	}
	return required
}

// waitedInVain tells a call that nobody answered in time from one whose question couldn't be asked.
func waitedInVain(err error) bool {
	_, open := errors.AsType[*approval.Open](err)
	return open || errors.Is(err, approval.ErrExpired) || errors.Is(err, context.DeadlineExceeded)
}

// bond is what an answer for a session is bound to (F4).
type bond struct{ entry, definition, pack string }

// granted reports whether the tool, as it is now, was allowed for this session. A package that isn't known yet is looked
// at when the server is there.
func (s *Session) granted(f *permission.Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.grants[f.Target]
	return ok && b.entry == f.Entry && b.definition == f.Definition && (b.pack == f.Package || f.Package == "")
}

// boundTo is the package that the answer which lets a call in was for; empty where none is known.
func (s *Session) boundTo(t permission.Target, d permission.Decision) string {
	if d.Grant != nil {
		return d.Grant.Package
	}
	if d.SourcedFrom != "session_allow" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants[t].pack
}

// grant prepares to keep an answer that reaches further than this call.
func (s *Session) grant(c *call, q *permission.Question, scope permission.Scope, resolved *event.PermissionResolved) {
	if scope == permission.Once || q.OnceOnly() {
		return
	}
	c.lasts = &lasting{Grant: permission.Grant{Target: c.tool.Target, Entry: q.Entry, Definition: q.Definition}}
	resolved.SourcedFrom = "session_allow_once"
	if scope == permission.Always && s.h.o.Remember != nil {
		c.lasts.always = true
		resolved.SourcedFrom = "always_allow"
	}
}

// remember writes a lasting answer where the user's configuration is.
func (c *call) remember(g permission.Grant) {
	h := c.s.h
	if err := h.o.Remember(g); err != nil {
		h.record(event.ConfigRejected{Message: "the answer \"always\" could not be kept: " + h.redact(err.Error())})
		return
	}
	c.add(event.GrantChanged{What: c.name, Scope: "always", Hash: g.Definition, By: "user"})
}

// waitingEvery is how often a caller that wants progress hears that it still has to wait.
const waitingEvery = 5 * time.Second

// waits tells the caller, if it wants progress, that its call waits for something, at once and then now and then. What it
// returns ends that.
func (c *call) waits(ctx context.Context, text string) (stop func()) {
	token := mcp.Member(mcp.Member(c.req.Params, "_meta"), "progressToken")
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(waitingEvery)
		defer tick.Stop()
		for n := 1; ; n++ { // far below what the server itself may count later, since progress must never fall
			c.peer.Notify(ctx, mcp.Notification(mcp.NotifyProgress, fmt.Appendf(nil, `{"progressToken":%s,"progress":%de-9,"message":%s}`, token, n, mcp.Quote(text))))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
