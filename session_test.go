package usher_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a modern server in this process that counts what reaches it.
type fake struct {
	tools string // raw elements of tools/list
	calls atomic.Int64
	do    func(name string, params json.RawMessage) *mcp.Message
}

func (f *fake) Handle(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case mcp.MethodDiscover:
		return mcp.Answer(req.ID, json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)), nil
	case mcp.MethodListTools:
		return mcp.Answer(req.ID, json.RawMessage(`{"resultType":"complete","tools":[`+f.tools+`]}`)), nil
	case mcp.MethodCallTool:
		f.calls.Add(1)
		if f.do != nil {
			m := f.do(mcp.Text(mcp.Member(req.Params, "name")), req.Params)
			m.ID = req.ID
			return m, nil
		}
		return mcp.Answer(req.ID, json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"done"}],"n":1.0}`)), nil
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no", nil), nil
}

const (
	readTool    = `{"name":"get","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]},"annotations":{"readOnlyHint":true}}`
	netTool     = `{"name":"post","inputSchema":{"type":"object"}}`
	destroyTool = `{"name":"drop","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`
	fileTool    = `{"name":"read_file","inputSchema":{"type":"object"}}`
	oddTool     = `{"name":"odd","inputSchema":{"type":"object","pattern":7,"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}},"annotations":{"readOnlyHint":true}}`
)

type world struct {
	*usher.Session
	log    *eventtest.Log
	jira   *fake
	local  *fake
	policy *permission.Policy
	asked  []permission.Question
	answer func(permission.Question) (permission.Answer, error)
	kept   []permission.Target
}

// open makes a host with a server "jira" and a local tool, and a session.
func open(t *testing.T) *world {
	t.Helper()
	w := &world{
		log:    new(eventtest.Log),
		jira:   &fake{tools: strings.Join([]string{readTool, netTool, destroyTool, fileTool, oddTool}, ",")},
		local:  &fake{tools: fileTool + "," + readTool},
		policy: new(permission.Policy),
	}
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{{Name: "jira", Transport: local.New(w.jira), Kind: "local", TrustHints: true}},
		Local:   w.local, Log: w.log, HostSession: "s_host",
		Policy: func() *permission.Policy { return w.policy },
		Asker: permission.AskerFunc(func(_ context.Context, q permission.Question) (permission.Answer, error) {
			w.asked = append(w.asked, q)
			if w.answer == nil {
				return permission.Answer{}, permission.ErrNobody
			}
			return w.answer(q)
		}),
		Remember: func(g permission.Grant) error { w.kept = append(w.kept, g.Target); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	h.Ready(t.Context())
	if w.Session, err = h.Session(usher.SessionOptions{Client: "test"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) types(after int) []string { return w.log.Types(w.ID())[after:] }

// last returns the data of the last event of the session.
func (w *world) last() string {
	events := w.log.Events(w.ID())
	return string(events[len(events)-1].Data)
}

// H2: the chain of a call, in its order; a local tool has the same without mcp.*.
func TestChain(t *testing.T) {
	w := open(t)
	if _, err := w.Call(t.Context(), "mcp.jira.get", []byte(`{"key":"PROJ-1"}`)); err != nil {
		t.Fatal(err)
	}
	want := []string{"model.tool_call_requested", "permission.requested", "permission.resolved",
		"mcp.call.started", "tool.started", "mcp.call.completed", "tool.completed"}
	if diff := cmp.Diff(want, w.types(1)); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Call(t.Context(), "local.get", []byte(`{"key":"x"}`)); err != nil {
		t.Fatal(err)
	}
	want = []string{"model.tool_call_requested", "permission.requested", "permission.resolved", "tool.started", "tool.completed"}
	if diff := cmp.Diff(want, w.types(8)); diff != "" {
		t.Error(diff)
	}
}

// F1, F2: "permission gating": what isn't allowed doesn't run, and the refusal names the command that would allow it.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string
		policy           *permission.Policy
		kind             fault.Kind
		says             string
	}{
		{"network asks nobody", "mcp.jira.post", `{}`, nil, fault.ApprovalRequired, "usher allow 'mcp.jira.post' (or all of this server: usher allow 'mcp.jira.*')"},
		{"destructive, though allowed", "mcp.jira.drop", `{}`, &permission.Policy{Allow: []permission.Rule{{Pattern: "*"}}}, fault.ApprovalRequired, "usher allow 'mcp.jira.drop' --risk write"},
		{"denied", "mcp.jira.get", `{"key":"x"}`, &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp__jira__*", Scope: "user", File: "c.json", Line: 7}}}, fault.PermissionDenied, "mcp__jira__* (c.json:7)"},
		{"unknown", "mcp.jira.got", `{}`, nil, fault.NotFound, "did you mean mcp.jira.get"},
		{"ambiguous", "read_file", `{}`, nil, fault.NotFound, "local.read_file, mcp.jira.read_file"},
		{"argument missing", "mcp.jira.get", `{}`, nil, fault.InvalidParams, "key"},
		{"argument of a wrong type", "mcp.jira.get", `{"key":7}`, nil, fault.InvalidParams, "key"},
		{"duplicate key", "mcp.jira.get", `{"key":"a","key":"b"}`, nil, fault.InvalidParams, "duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			if c.policy != nil {
				w.policy = c.policy
			}
			_, err := w.Call(t.Context(), c.tool, []byte(c.args))
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s: %v\nwant %s: … %s", fault.KindOf(err), err, c.kind, c.says)
			}
			if n := w.jira.calls.Load() + w.local.calls.Load(); n != 0 {
				t.Errorf("%d calls reached a server", n)
			}
			if c.name != "duplicate key" && w.types(0)[len(w.types(0))-1] != "tool.failed" {
				t.Errorf("the chain ends with %v", w.types(0))
			}
		})
	}
}

// E2: with the server's tool denied the bare name means the local one; the full names always work.
func TestAmbiguousNameHasFullNames(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Allow: []permission.Rule{{Pattern: "local.*"}}}
	for _, name := range []string{"local.read_file", "local__read_file"} {
		if _, err := w.Call(t.Context(), name, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.policy = &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp.jira.read_file"}}, Allow: w.policy.Allow}
	if _, err := w.Call(t.Context(), "read_file", nil); err != nil {
		t.Error(err)
	}
	if n := w.local.calls.Load(); n != 3 {
		t.Errorf("%d local calls", n)
	}
}

// D6: a schema that can't be compiled blocks no call.
func TestOddSchemaBlocksNothing(t *testing.T) {
	w := open(t)
	if _, err := w.Call(t.Context(), "mcp.jira.odd", []byte(`{"a":1}`)); err != nil {
		t.Error(err)
	}
}

// H5: a log that can't be written refuses what is above a read, before a byte leaves; a log that takes nothing at all
// refuses everything.
func TestLogUnavailable(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Allow: []permission.Rule{{Pattern: "*"}}}
	w.log.Fail(nil, &fault.Error{Kind: fault.LogUnavailable, Detail: "the disk is full"})
	_, err := w.Call(t.Context(), "mcp.jira.post", nil)
	if fault.KindOf(err) != fault.LogUnavailable || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
	if _, err := w.Call(t.Context(), "mcp.jira.get", []byte(`{"key":"x"}`)); err != nil {
		t.Errorf("a read: %v", err)
	}
	w.log.Fail(errors.New("no more room"), nil)
	if _, err := w.Call(t.Context(), "mcp.jira.get", []byte(`{"key":"x"}`)); fault.KindOf(err) != fault.LogUnavailable {
		t.Errorf("a read that can't be recorded at all: %v", err)
	}
	if n := w.jira.calls.Load(); n != 1 {
		t.Errorf("%d calls reached the server", n)
	}
}

// "tools/call failed": a JSON-RPC error of a server is mcp.call.failed and tool.failed, and reaches the agent as it is.
func TestServerError(t *testing.T) {
	w := open(t)
	w.jira.do = func(string, json.RawMessage) *mcp.Message {
		return &mcp.Message{Error: json.RawMessage(`{"code":-32000,"message":"on fire","data":{"x":1.0}}`)}
	}
	req := mcp.Request("7", mcp.MethodCallTool, json.RawMessage(`{"name":"mcp__jira__get","arguments":{"key":"k"}}`))
	m, err := w.Handle(t.Context(), req, mcp.Nobody)
	if err != nil || m.ID != "7" || string(m.Error) != `{"code":-32000,"message":"on fire","data":{"x":1.0}}` {
		t.Errorf("got %+v, %v", m, err)
	}
	if diff := cmp.Diff([]string{"mcp.call.failed", "tool.failed"}, w.types(6)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(w.last(), `"reason":"server_error"`) {
		t.Error(w.last())
	}
}

// A5: a panic in a local tool is a failed call.
func TestPanicIsAFailedCall(t *testing.T) {
	w := open(t)
	w.local.do = func(string, json.RawMessage) *mcp.Message { panic("bug") }
	if _, err := w.Call(t.Context(), "local.get", []byte(`{"key":"k"}`)); err == nil {
		t.Error("the call succeeded")
	}
	w.local.do = nil
	if _, err := w.Call(t.Context(), "local.get", []byte(`{"key":"k"}`)); err != nil {
		t.Error(err)
	}
}

// O2: the answer keeps its bytes, and the server its own name for the tool and all else that the caller wrote.
func TestFaithful(t *testing.T) {
	w := open(t)
	var got string
	const result = `{"resultType":"complete", "content":[],"structuredContent":[1.0,9007199254740993,"\u002F"],"unknown":{}}`
	w.jira.do = func(_ string, params json.RawMessage) *mcp.Message {
		got = string(mcp.SetMember(params, "_meta", nil))
		return &mcp.Message{Result: json.RawMessage(result)}
	}
	req := mcp.Request("1", mcp.MethodCallTool, json.RawMessage(`{"x":1.0, "name":"mcp__jira__get","arguments":{"key":"\u002F"},"task":{}}`))
	m, _ := w.Handle(t.Context(), req, mcp.Nobody)
	if string(m.Result) != result {
		t.Errorf("got %s", m.Result)
	}
	if want := `{"x":1.0, "name":"get","arguments":{"key":"\u002F"},"task":{}}`; got != want {
		t.Errorf("the server got %s", got)
	}
}

// E1, F6: the list for models holds the names for models, and nothing that is denied.
func TestListTools(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp.jira.drop"}}}
	m, err := w.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tool := range mcp.Elements(mcp.Member(m.Result, "tools")) {
		names = append(names, mcp.Text(mcp.Member(tool, "name")))
	}
	want := []string{"local__get", "local__read_file", "mcp__jira__get", "mcp__jira__odd", "mcp__jira__post", "mcp__jira__read_file"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// A2: a method that isn't in the table reaches no server.
func TestOtherMethodsReachNobody(t *testing.T) {
	w := open(t)
	for _, method := range []string{"resources/read", "sampling/createMessage", "x", "initialize"} {
		m, err := w.Handle(t.Context(), mcp.Request("1", method, json.RawMessage(`{"name":"mcp.jira.get"}`)), mcp.Nobody)
		if err != nil || m.Err() == nil || m.Err().Code != mcp.CodeMethodNotFound {
			t.Errorf("%s: %+v, %v", method, m, err)
		}
	}
}

func BenchmarkBuiltin(b *testing.B) {
	f := &fake{tools: readTool}
	h, err := usher.Open(b.Context(), usher.Options{Local: f, Log: discard{}})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	s, err := h.Session(usher.SessionOptions{})
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"key":"PROJ-123"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call(b.Context(), "local.get", args); err != nil {
			b.Fatal(err)
		}
	}
}

// discard is a log that keeps nothing.
type discard struct{}

func (discard) Append(context.Context, string, ...event.Data) (event.Mark, error) { return 0, nil }
func (discard) Wait(context.Context, event.Mark) error                            { return nil }
