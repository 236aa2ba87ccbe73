package usher_test

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// O5: a session of one server sees that server's tools alone, under their own names; rules and the log still name them whole.
func TestOneServer(t *testing.T) {
	log, jira := new(eventtest.Log), &fake{tools: readTool + "," + netTool}
	policy := &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp.jira.post"}}}
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{
			{Name: "jira", Transport: local.New(jira), Kind: "local", TrustHints: true},
			{Name: "other", Transport: local.New(&fake{tools: readTool}), Kind: "local", TrustHints: true},
		},
		Local: &fake{tools: readTool}, Log: log, Policy: func() *permission.Policy { return policy },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	for server, want := range map[string]string{"jira": `"name":"get"`, usher.LocalTools: `"name":"get"`} {
		s, err := h.Session(usher.SessionOptions{Server: server})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := s.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
		if got := string(m.Result); strings.Count(got, `"name"`) != 1 || !strings.Contains(got, want) {
			t.Errorf("%s: %s", server, got)
		}
		before := jira.calls.Load()
		if _, err := s.Call(t.Context(), "get", []byte(`{"key":"k"}`)); err != nil {
			t.Errorf("%s: %v", server, err)
		}
		if reached := jira.calls.Load() - before; (reached == 1) != (server == "jira") {
			t.Errorf("%s: %d calls reached jira", server, reached)
		}
		if server == "jira" {
			if _, err := s.Call(t.Context(), "post", nil); fault.KindOf(err) != fault.PermissionDenied {
				t.Errorf("a denied tool: %v", err)
			}
			if e := log.Events(s.ID())[1]; mcp.Text(mcp.Member(e.Data, "tool")) != "mcp.jira.get" {
				t.Errorf("the log names it %s", e.Data)
			}
		}
	}
}
