package usher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// logged returns the last decision that the log has of a session.
func logged(t *testing.T, log *eventtest.Log, session string) (asked event.PermissionRequested, r event.PermissionResolved) {
	t.Helper()
	for _, e := range log.Events(session) {
		for _, to := range []struct {
			kind string
			data any
		}{{asked.Type(), &asked}, {r.Type(), &r}} {
			if e.Type == to.kind {
				if err := json.Unmarshal(e.Data, to.data); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return asked, r
}

// F8: an explanation says what the call then meets, whatever decides: a list, a mode, a risk, a session's yes, a flow.
func TestExplainIsTheDecision(t *testing.T) {
	rule := func(pattern string) []permission.Rule {
		return []permission.Rule{{Pattern: pattern, Scope: "user", File: "f", Line: 1}}
	}
	policies := map[string]*permission.Policy{
		"none":      {},
		"deny":      {Deny: rule("mcp.web.post(text:no*)"), Allow: rule("*")},
		"ask":       {Ask: rule("mcp.*.post"), Allow: rule("*")},
		"allow":     {Allow: rule("mcp.web.*")},
		"labelled":  {Labels: map[string]permission.Label{"mcp.web.post": {Risk: permission.Destructive}}, Allow: rule("*")},
		"some mode": {Modes: []permission.Mode{permission.Plan}},
	}
	seen := map[string]bool{}
	for name, policy := range policies {
		for mode := permission.Default; mode <= permission.Bypass; mode++ {
			for _, tainted := range []bool{false, true} {
				what := fmt.Sprintf("%s, %s, tainted %t", name, mode, tainted)
				l := leak(t, nil, mode)
				l.yes = false
				s := l.session(t, "agent")
				if tainted {
					reads(t, s, "mcp.mail.get")
				}
				l.rules = policy
				for _, args := range []string{`{"text":"no"}`, `{"text":"yes"}`} {
					before := len(l.log.Events(s.ID()))
					e, err := s.Explain(t.Context(), "mcp.web.post", json.RawMessage(args))
					if err != nil {
						t.Fatal(err)
					}
					if after := len(l.log.Events(s.ID())); after != before {
						t.Errorf("%s: explaining wrote %d events", what, after-before)
					}
					_, _ = s.Call(t.Context(), "mcp.web.post", json.RawMessage(args))
					asked, r := logged(t, l.log, s.ID())
					was := r.Decision
					if r.Actor == "user" && r.Decision == "deny" {
						was = "ask" // and a person said no
					}
					if e.Decision.Effect.String() != was || e.Decision.SourcedFrom != asked.SourcedFrom || e.Call.Risk.String() != asked.RiskAtDecision {
						t.Errorf("%s, %s: explained as %s (%s, %s), and it was %s (%s, %s)", what, args,
							e.Decision.Effect, e.Decision.SourcedFrom, e.Call.Risk, was, asked.SourcedFrom, asked.RiskAtDecision)
					}
					if (e.Decision.Effect == permission.Ask) != (e.Hint != "" && len(e.Reasons) > 0) || (e.Flow != "") != (tainted && e.Rules.Effect != permission.Deny) {
						t.Errorf("%s: hint %q, reasons %q, flow %q", what, e.Hint, e.Reasons, e.Flow)
					}
					seen[asked.SourcedFrom] = true
				}
			}
		}
	}
	for _, from := range []string{"rule:user", "mode", "default", "toxic_flow"} {
		if !seen[from] {
			t.Errorf("nothing was decided by %s", from)
		}
	}
}

// A yes for the session counts in its explanations, and in those for a session like it where one says so.
func TestExplainSessionGrant(t *testing.T) {
	l := leak(t, nil, permission.Default)
	l.rules = &permission.Policy{}
	s := l.session(t, "agent")
	if err := sends(t, s); err != nil || len(l.asked) != 1 {
		t.Fatal(err, l.asked)
	}
	e, err := s.Explain(t.Context(), "mcp__web__post", nil)
	if err != nil || e.Decision.SourcedFrom != "session_allow" {
		t.Errorf("%+v, %v", e.Decision, err)
	}
	for granted, want := range map[bool]string{true: "session_allow", false: "default"} {
		as := usher.As{ID: "s_x", SessionOptions: usher.SessionOptions{Client: "agent"}, Granted: granted}
		e, err := l.Explain(t.Context(), as, "mcp.web.post", nil)
		if err != nil || e.Decision.SourcedFrom != want || e.Call.Session != "s_x" {
			t.Errorf("%t: %+v, %v", granted, e.Decision, err)
		}
	}
}

// A wrong name and arguments that don't fit.
func TestExplainMistakes(t *testing.T) {
	l := leak(t, nil, permission.Default)
	s := l.session(t, "agent")
	if _, err := s.Explain(t.Context(), "mcp.web.pots", nil); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := s.Explain(t.Context(), "mcp.web.post", json.RawMessage(`{`)); fault.KindOf(err) != fault.InvalidParams {
		t.Error(err)
	}
	if e, err := s.Explain(t.Context(), "mcp.mail.get", json.RawMessage(`{"key":1}`)); err != nil || e.Invalid == nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// C8: a lazy host starts a server only when a call needs it.
func TestLazy(t *testing.T) {
	dialled := make(chan struct{}, 1)
	h, err := usher.Open(t.Context(), usher.Options{
		Lazy: true, Log: new(eventtest.Log),
		Servers: []usher.Server{{Name: "web", Kind: "http", Transport: counting{local.New(&fake{tools: netTool}), dialled}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	if len(dialled) != 0 || len(h.Known()) != 0 {
		t.Fatal("it was started")
	}
	e, err := h.Explain(t.Context(), usher.As{}, "mcp.web.post", nil)
	if err != nil || len(dialled) != 1 || e.Tool.Server != "web" {
		t.Fatal(e, err)
	}
	if k := h.Known(); len(k) != 1 || k[0].Call.Target != e.Call.Target || k[0].Sink != e.Sink || len(k[0].Schema) == 0 {
		t.Errorf("%+v", k)
	}
}

type counting struct {
	transport.Transport
	dialled chan struct{}
}

func (c counting) Connect(ctx context.Context) (transport.Conn, error) {
	c.dialled <- struct{}{}
	return c.Transport.Connect(ctx)
}
