package usher_test

import (
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

const (
	weatherTool = `{"name":"weather","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]},` +
		`"annotations":{"readOnlyHint":true}}`
	strangeTool = `{"name":"strange","inputSchema":{"type":"object","properties":{"a b":{"type":"integer"},"ok":{}},"required":["a b"]},"annotations":{"readOnlyHint":true}}`
)

// one opens a host with one server and a session.
func one(t *testing.T, f *fake, o usher.SessionOptions) (*usher.Session, *eventtest.Log) {
	t.Helper()
	log := new(eventtest.Log)
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{{Name: "x", Transport: local.New(f), Kind: "local", TrustHints: true}}, Log: log, HostSession: "s_host",
		Policy: func() *permission.Policy { return new(permission.Policy) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	h.Ready(t.Context())
	s, err := h.Session(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// A result that isn't what the tool promised is noticed in the log, and reaches the agent as it is.
func TestOutputSchemaIsAFinding(t *testing.T) {
	content := `{"t":"warm"}`
	f := &fake{tools: weatherTool, do: func(string, json.RawMessage) *mcp.Message {
		return mcp.Answer("", json.RawMessage(`{"resultType":"complete","content":[],"structuredContent":`+content+`}`))
	}}
	s, log := one(t, f, usher.SessionOptions{})
	for _, c := range []struct{ content, finding string }{
		{`{"t":"warm"}`, "structuredContent.t"}, {`{"t":21.50}`, ""}, {`[1]`, "structuredContent"},
	} {
		content = c.content
		r, err := s.Call(t.Context(), "mcp.x.weather", nil)
		if err != nil || r.IsError || string(mcp.Member(r.Raw, "structuredContent")) != c.content {
			t.Errorf("%s: %v %s", c.content, err, r.Raw)
		}
		all := log.Events(s.ID())
		found := string(mcp.Member(all[len(all)-1].Data, "findings"))
		if (c.finding == "") != (found == "") || !strings.Contains(found, c.finding) {
			t.Errorf("%s: findings %s, want %q", c.content, found, c.finding)
		}
	}
}

// A model gets a schema that its API takes, and the server the names that it knows.
func TestRepairedSchema(t *testing.T) {
	got := ""
	f := &fake{tools: strangeTool, do: func(_ string, params json.RawMessage) *mcp.Message {
		got = string(mcp.Member(params, "arguments"))
		return mcp.Answer("", mcp.TextResult("done", false))
	}}
	s, _ := one(t, f, usher.SessionOptions{RepairSchemas: true})
	tool := s.Tools()[0]
	name := ""
	for key := range mcp.Members(mcp.Member(tool.InputSchema, "properties")) {
		if k := mcp.Text(key); k != "ok" {
			name = k
		}
	}
	if name == "" || name == "a b" || strings.Contains(string(tool.Definition), name) {
		t.Fatalf("%q in %s", name, tool.InputSchema)
	}
	if _, err := s.Call(t.Context(), tool.Name, json.RawMessage(`{"ok":1.0,"`+name+`":7}`)); err != nil || got != `{"ok":1.0,"a b":7}` {
		t.Errorf("the server got %s, %v", got, err)
	}
	if _, err := s.Call(t.Context(), tool.Name, json.RawMessage(`{"`+name+`":"x"}`)); fault.KindOf(err) != fault.InvalidParams {
		t.Errorf("arguments are checked after the original: %v", err)
	}
	plain, _ := one(t, f, usher.SessionOptions{})
	if got := string(plain.Tools()[0].InputSchema); !strings.Contains(got, `"a b"`) {
		t.Errorf("without RepairSchemas: %s", got)
	}
}
