package client

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
	"github.com/usher-mcp/usher/transport/stdio"
)

// B8, case-069 over the transport that real servers are started with.
func TestOverStdio(t *testing.T) {
	for mode, era := range map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy} {
		t.Run(mode, func(t *testing.T) {
			s := connect(t, stdio.New(stdio.Options{
				Command: os.Args[0],
				Env: map[string]string{
					"USHER_CLIENT_TEST_SERVER": mode,
					"GOCOVERDIR":               t.TempDir(), // else its last words are about that
				},
			}), Options{Name: "x"})
			if i := s.Info(); i.Era != era || era == mcp.Legacy && !strings.Contains(i.Why, "unknown method server/discover") {
				t.Errorf("%+v", i)
			}
			m := callTool(t, s, `{"arguments":{"n":1.0}}`, nil)
			if got := mcp.Path(m.Result, "got", "arguments"); string(got) != `{"n":1.0}` {
				t.Errorf("the server got %s", got)
			}
			if s.Describe().PID == 0 {
				t.Error("no pid")
			}
			_, err := s.Handle(t.Context(), mcp.Request("1", "die", nil), nil)
			wantKind(t, err, fault.Restarted, "exit status 4", "out of luck")
		})
	}
}

func TestOverLocal(t *testing.T) {
	s := connect(t, local.New(mcp.HandlerFunc(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		switch m.Method {
		case mcp.MethodDiscover:
			return mcp.Answer(m.ID, []byte(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)), nil
		case mcp.MethodListTools:
			return mcp.Answer(m.ID, []byte(`{"tools":[`+toolLine("a")+`]}`)), nil
		case "panic":
			panic("a bug")
		}
		token := mcp.Path(m.Params, metaKey, mcp.MetaProgress)
		p.Notify(ctx, mcp.Notification(mcp.NotifyProgress, []byte(`{"progressToken":`+string(token)+`}`)))
		return mcp.Answer(m.ID, []byte(`{"n":1.0}`)), nil
	})), Options{Name: "x"})
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Errorf("%v, %v", tools, err)
	}
	p := new(peer)
	if m := callTool(t, s, `{"_meta":{"progressToken":"mine"}}`, p); string(m.Result) != `{"n":1.0}` {
		t.Errorf("got %s", m.Result)
	}
	if got := strings.Join(p.all(), "\n"); got != `notifications/progress {"progressToken":"mine"}` {
		t.Errorf("the peer was told %s", got)
	}
	_, err := s.Handle(t.Context(), mcp.Request("1", "panic", nil), nil)
	wantKind(t, err, fault.Internal, "it panicked")
}
