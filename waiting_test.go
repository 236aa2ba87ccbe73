package usher_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// listener keeps what a call tells its caller meanwhile.
type listener struct{ told []string }

func (l *listener) Notify(_ context.Context, m *mcp.Message) {
	l.told = append(l.told, string(m.Params))
}
func (l *listener) Request(context.Context, *mcp.Message) (*mcp.Message, error) {
	return nil, context.Canceled
}

// F5: a call waits 25 s with progress, then says how to answer; the question stays open 15 min, and the identical call
// passes once.
func TestQuestionOutlivesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fake{tools: netTool}
		h, err := usher.Open(t.Context(), usher.Options{
			Servers: []usher.Server{{Name: "jira", Transport: local.New(server), Kind: "local"}}, Log: new(eventtest.Log), Questions: new(approval.Memory),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		h.Ready(t.Context())
		s, err := h.Session(usher.SessionOptions{Client: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		call := func(args string) (string, []string) {
			var l listener
			params := `{"name":"mcp__jira__post","arguments":` + args + `,"_meta":{"progressToken":"p"}}`
			m, _ := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, []byte(params)), &l)
			return string(m.Result), l.told
		}
		begun := time.Now()
		got, told := call(`{"a":1}`)
		if took := time.Since(begun); took != 25*time.Second {
			t.Errorf("it waited %v", took)
		}
		open, err := h.Questions().List(t.Context())
		if err != nil || len(open) != 1 {
			t.Fatalf("%d questions are open, %v", len(open), err)
		}
		if !strings.Contains(got, "approvals show "+open[0].ID) || !strings.Contains(got, "isError\":true") {
			t.Errorf("the agent reads %s", got)
		}
		if len(told) < 5 || !strings.Contains(told[0], `"progressToken":"p"`) {
			t.Errorf("meanwhile it was told %v", told)
		}
		if left := time.Until(open[0].Expires); left != 15*time.Minute-25*time.Second {
			t.Errorf("it stays open for %v more", left)
		}
		if err := h.Questions().Answer(t.Context(), open[0].ID, permission.Answer{Allow: true, Via: "admin"}); err != nil {
			t.Fatal(err)
		}
		if got, _ := call(`{"a":1 }`); server.calls.Load() != 0 {
			t.Errorf("another call passed: %s", got)
		}
		if got, _ := call(`{"a":1}`); server.calls.Load() != 1 {
			t.Errorf("the identical call got %s", got)
		}
		if got, _ := call(`{"a":1}`); server.calls.Load() != 1 {
			t.Errorf("it passed twice: %s", got)
		}
	})
}

// A session that waits for nobody fails at once, and its question is open all the same.
func TestNoPatience(t *testing.T) {
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{{Name: "jira", Transport: local.New(&fake{tools: netTool}), Kind: "local"}}, Log: new(eventtest.Log), Questions: new(approval.Memory),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	s, err := h.Session(usher.SessionOptions{AskWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), "mcp.jira.post", nil); fault.KindOf(err) != fault.ApprovalRequired {
		t.Errorf("got %v", err)
	}
	if open, err := h.Questions().List(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("%d questions are open, %v", len(open), err)
	}
}

// F4: an answer that lasts is bound to the entry, too: another entry under the same name asks again.
func TestGrantIsBoundToTheEntry(t *testing.T) {
	asked := 0
	server := func(entry string) []usher.Server {
		return []usher.Server{{Name: "jira", Key: entry, Entry: entry, Transport: local.New(&fake{tools: netTool}), Kind: "local"}}
	}
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: server("one"), Log: new(eventtest.Log),
		Asker: permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
			asked++
			return permission.Answer{Allow: true, Scope: permission.Session}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	s, err := h.Session(usher.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 1, 2} {
		if i == 2 {
			if _, err := h.Apply(server("two")); err != nil {
				t.Fatal(err)
			}
			h.Ready(t.Context())
		}
		if _, err := s.Call(t.Context(), "mcp.jira.post", nil); err != nil || asked != want {
			t.Errorf("call %d: %v, asked %d times, want %d", i+1, err, asked, want)
		}
	}
}
