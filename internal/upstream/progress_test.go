package upstream

import (
	"testing"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// case-186: a server is always asked for progress, and only who wanted it hears of it.
func TestAskProgress(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{mcp.MethodCallTool, `{"name":"a", "arguments":{}}`, `{"name":"a", "arguments":{},"_meta":{"progressToken":0}}`},
		{mcp.MethodCallTool, `{"_meta":{"x":1.0},"name":"a"}`, `{"_meta":{"x":1.0,"progressToken":0},"name":"a"}`},
		{mcp.MethodCallTool, `{"name":"a","_meta":{ }}`, `{"name":"a","_meta":{ "progressToken":0}}`},
		{mcp.MethodCallTool, ``, `{"_meta":{"progressToken":0}}`},
		{mcp.MethodCallTool, `{"name":"a","_meta":{"progressToken":"p"}}`, ""},
		{mcp.MethodCallTool, `{"name":"a","_meta":7}`, ""}, // wrong, and not ours to mend
		{mcp.MethodListTools, `{}`, ""},
	} {
		heard := &listener{}
		req := mcp.Request("1", c.method, []byte(c.params))
		got, p := askProgress(req, heard)
		if string(req.Params) != c.params {
			t.Errorf("%s was written to", c.params)
		}
		if c.want == "" && (got != req || p != mcp.Peer(heard)) || c.want != "" && string(got.Params) != c.want {
			t.Errorf("%s became %s", c.params, got.Params)
		}
		p.Notify(t.Context(), mcp.Notification(mcp.NotifyMessage, nil))
		p.Notify(t.Context(), mcp.Notification(mcp.NotifyProgress, nil))
		if want := map[bool]int{true: 1, false: 2}[c.want != ""]; heard.count() != want {
			t.Errorf("%s: heard %d notifications, want %d", c.params, heard.count(), want)
		}
	}
}

func TestAskProgressKeepsTerms(t *testing.T) {
	want := client.Terms{PassTask: true}
	_, p := askProgress(mcp.Request("1", mcp.MethodCallTool, nil), withTerms{&listener{}, want})
	_, p, stop := beginPatience(t.Context(), p, 1, 0)
	defer stop()
	if got, ok := p.(client.Termed); !ok || !got.Terms().PassTask {
		t.Errorf("%T has lost its terms", p)
	}
	if _, p := askProgress(mcp.Request("1", mcp.MethodCallTool, nil), nil); p == nil {
		t.Error("no peer")
	} else {
		p.Notify(t.Context(), mcp.Notification(mcp.NotifyMessage, nil))
	}
}
