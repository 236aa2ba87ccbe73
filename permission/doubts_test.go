package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDoubts(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"options":{"type":"object"},"command":{"type":"string"}}}`)
	for _, c := range []struct {
		pattern string
		list    Effect
		want    string
	}{
		{"mcp.fs.w(path:/a/**)", Allow, ""},
		{"mcp.fs.w(options.mode:w)", Deny, ""},
		{"mcp.fs.w(pth:/a/**)", Deny, `"path"?`},
		{"mcp.fs.w(pth:/a/**)", Allow, `no argument "pth"`},
		{"mcp.fs.w(*:x)", Deny, ""},
		{"mcp.fs.w(*:x)", Allow, "as it stands"},
		{"mcp.fs.w(command:git *)", Allow, "options"},
		{"mcp.fs.w(command:git *)", Deny, ""},
		{"mcp.fs.w(x", Allow, "allows nothing"},
		{"mcp.fs.w(x", Deny, "every call"},
		{"mcp.fs.w", Deny, ""},
	} {
		got := strings.Join(Doubts(Rule{Pattern: c.pattern}, c.list, schema), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.list, c.pattern, got, c.want)
		}
	}
	if got := Doubts(Rule{Pattern: "mcp.fs.w(x:y)"}, Deny, json.RawMessage(`{"type":"object"}`)); got != nil {
		t.Errorf("a schema without names: %v", got)
	}
}

// Names come from servers, which may make up new ones for ever.
func TestMemoIsBounded(t *testing.T) {
	p := &Policy{}
	for i := range maxMemo + 10 {
		p.Decide(Call{Target: Target{"s", string(rune(i))}, Risk: Read})
	}
	kept := 0
	p.memo.Range(func(any, any) bool { kept++; return true })
	if kept > maxMemo || kept < maxMemo/2 {
		t.Errorf("%d kept", kept)
	}
}
