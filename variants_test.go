package usher_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
)

// J1, CVE-2026-27896: a server that reads keys without their case would run what no rule saw and no person was shown, so
// that isn't forwarded.
func TestVariantsOfKeysAreNotForwarded(t *testing.T) {
	for _, more := range []string{
		`"Name":"drop"`, `"NAME":"drop"`, `"Arguments":{"key":"/etc"}`, `"argument\u017f":{"key":"/etc"}`, `"argumentſ":{"key":"/etc"}`, `"n\u0061Me":"drop"`, `"_Meta":{}`, `"name\u0000":"drop"`, `"Arguments\u0000x":{}`,
	} {
		for _, params := range []string{
			`{"name":"mcp.jira.get","arguments":{"key":"x"},` + more + `}`, `{` + more + `,"name":"mcp.jira.get","arguments":{"key":"x"}}`,
		} {
			w := open(t)
			var got string
			w.jira.do = func(_ string, params json.RawMessage) *mcp.Message {
				got = string(params)
				return mcp.Answer("0", json.RawMessage(`{"content":[]}`))
			}
			m, err := w.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, json.RawMessage(params)), mcp.Nobody)
			if err != nil || w.jira.calls.Load() != 0 {
				t.Errorf("%s: %v, the server got %s", params, err, got)
			}
			if text := string(m.Result); !strings.Contains(text, "spelled") {
				t.Errorf("%s: the agent reads %s", params, text)
			}
		}
	}
}
