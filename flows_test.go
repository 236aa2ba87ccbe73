package usher_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// leaky is a host with a mailbox, which is private, a notebook, and a way out, all of which the rules allow.
type leaky struct {
	*usher.Host
	log   *eventtest.Log
	out   *fake
	asked []permission.Question
	yes   bool
	rules *permission.Policy
}

func leak(t *testing.T, flows *usher.Flows, mode permission.Mode) *leaky {
	t.Helper()
	l := &leaky{log: new(eventtest.Log), out: &fake{tools: netTool}, yes: true}
	l.rules = &permission.Policy{Allow: []permission.Rule{{Pattern: "mcp.*", Scope: "user"}}}
	server := func(name, tool, kind string, secrets bool) usher.Server {
		return usher.Server{Name: name, Transport: local.New(&fake{tools: tool}), Kind: kind, TrustHints: true, Credentials: secrets}
	}
	web := server("web", "", "http", false)
	web.Transport = local.New(l.out)
	o := usher.Options{
		Servers: []usher.Server{server("mail", readTool, "http", true), server("notes", writeTool+","+readTool, "stdio", false), web},
		Log:     l.log, HostSession: "s_host", Policy: func() *permission.Policy { return l.rules },
		Mode: func() permission.Mode { return mode },
		Asker: permission.AskerFunc(func(_ context.Context, q permission.Question) (permission.Answer, error) {
			l.asked = append(l.asked, q)
			return permission.Answer{Allow: l.yes, Scope: permission.Always, Via: "terminal"}, nil
		}),
	}
	if flows != nil {
		o.Flows = func() *usher.Flows { return flows }
	}
	var err error
	if l.Host, err = usher.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	l.Ready(t.Context())
	return l
}

const writeTool = `{"name":"put","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false,"openWorldHint":false}}`

func (l *leaky) session(t *testing.T, client string) *usher.Session {
	t.Helper()
	s, err := l.Session(usher.SessionOptions{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reads(t *testing.T, s *usher.Session, name string) {
	t.Helper()
	if _, err := s.Call(t.Context(), name, []byte(`{"key":"x"}`)); err != nil {
		t.Fatal(err)
	}
}

func sends(t *testing.T, s *usher.Session) error {
	t.Helper()
	_, err := s.Call(t.Context(), "mcp.web.post", []byte(`{"text":"…"}`))
	return err
}

// F5, security.md §8: a call that could carry private data out asks though a rule allows it, once for each pair, and says why.
func TestFlowAsksOnce(t *testing.T) {
	l := leak(t, nil, permission.Default)
	s := l.session(t, "agent")
	if err := sends(t, s); err != nil || len(l.asked) != 0 {
		t.Fatalf("a clean session: %v, asked %d times", err, len(l.asked))
	}
	reads(t, s, "mcp.mail.get")
	for range 2 {
		if err := sends(t, s); err != nil || len(l.asked) != 1 {
			t.Fatalf("%v, asked %d times, want once", err, len(l.asked))
		}
	}
	q := l.asked[0]
	if !q.OnceOnly() || !strings.Contains(q.Flow, "mail") || len(q.Reasons) != 1 {
		t.Errorf("the question says %+v", q)
	}
	var from []string
	for _, e := range l.log.Events(s.ID()) {
		if e.Type == "permission.requested" && mcp.Text(mcp.Member(e.Data, "tool")) == "mcp.web.post" {
			from = append(from, mcp.Text(mcp.Member(e.Data, "sourcedFrom")))
		}
	}
	if strings.Join(from, " ") != "rule:user toxic_flow rule:user" {
		t.Errorf("the log says %v", from)
	}
}

// A no keeps it in, and so do the mode deny, dont-ask, and a session in which nobody can be asked.
func TestFlowIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		flows *usher.Flows
		mode  permission.Mode
		yes   bool
	}{
		"no":       {},
		"deny":     {flows: usher.NewFlows(usher.FlowDeny, nil, 0), yes: true},
		"dont-ask": {mode: permission.DontAsk, yes: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := leak(t, c.flows, c.mode)
			l.yes = c.yes
			s := l.session(t, "agent")
			reads(t, s, "mcp.mail.get")
			if err := sends(t, s); fault.KindOf(err) != fault.PermissionDenied || l.out.calls.Load() != 0 {
				t.Errorf("%v, %d calls went out", err, l.out.calls.Load())
			}
			if name != "no" && len(l.asked) != 0 {
				t.Error("somebody was asked")
			}
		})
	}
}

// Bypass lets no flow by; off does.
func TestFlowInBypassAndOff(t *testing.T) {
	l := leak(t, nil, permission.Bypass)
	s := l.session(t, "agent")
	reads(t, s, "mcp.mail.get")
	if err := sends(t, s); err != nil || len(l.asked) != 1 {
		t.Errorf("bypass: %v, asked %d times", err, len(l.asked))
	}
	l = leak(t, usher.NewFlows(usher.FlowOff, nil, 0), permission.Default)
	s = l.session(t, "agent")
	reads(t, s, "mcp.mail.get")
	if err := sends(t, s); err != nil || len(l.asked) != 0 {
		t.Errorf("off: %v, asked %d times", err, len(l.asked))
	}
}

// What a session wrote to a server, another client's session takes in from there; and one client's sessions are one.
func TestFlowFollows(t *testing.T) {
	l := leak(t, nil, permission.Default)
	first := l.session(t, "a")
	reads(t, first, "mcp.mail.get")
	if _, err := first.Call(t.Context(), "mcp.notes.put", json.RawMessage(`{"text":"…"}`)); err != nil {
		t.Fatal(err)
	}
	before := len(l.asked)
	again := l.session(t, "a")
	if err := sends(t, again); err != nil || len(l.asked) != before+1 {
		t.Errorf("the same client: %v, asked %d times", err, len(l.asked)-before)
	}
	before = len(l.asked)
	other := l.session(t, "b")
	if err := sends(t, other); err != nil || len(l.asked) != before {
		t.Errorf("another client, clean: %v, asked %d times", err, len(l.asked)-before)
	}
	reads(t, other, "mcp.notes.get")
	if err := sends(t, other); err != nil || len(l.asked) != before+1 || !strings.Contains(l.asked[before].Flow, "mail") {
		t.Errorf("another client, through the notebook: %v, %+v", err, l.asked[before:])
	}
}
