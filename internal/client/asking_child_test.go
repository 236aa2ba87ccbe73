package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/stdio"
)

// askingChild is a server in a process of its own that asks back during a call, in the way of its era, and tells of a
// change once it was subscribed to.
func askingChild(mode string, in io.Reader, out io.Writer) int {
	say := func(m *mcp.Message, line string) {
		fmt.Fprintln(out, strings.ReplaceAll(line, "ID", string(m.ID)))
	}
	var waiting *mcp.Message // the call that waits for an answer
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m, err := mcp.Parse(lines.Bytes())
		if err != nil {
			return 9
		}
		responses := mcp.Member(m.Params, keyResponses)
		switch {
		case m.Method == mcp.MethodDiscover && mode == "asks-modern":
			say(m, offering(discovered, tellsAll))
		case m.Method == mcp.MethodDiscover:
			say(m, unknownMethod)
		case m.Method == mcp.MethodInitialize:
			say(m, offering(initialized, tellsAll))
		case m.Method == mcp.MethodListen:
			say(m, note(ack, "ID", ``))
			say(m, note(mcp.NotifyUpdated, "ID", `"uri":"f:1"`))
		case m.Method == mcp.MethodSubscribe:
			say(m, discoverLine(`{}`))
			say(m, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"f:1"}}`)
		case m.Method == mcp.MethodCallTool && responses != nil:
			say(m, discoverLine(`{"got":`+string(mcp.Member(responses, "q"))+`}`))
		case m.Method == mcp.MethodCallTool && mode == "asks-modern":
			say(m, discoverLine(`{`+needsInput+`,"inputRequests":{"q":{"method":"elicitation/create","params":{"n":1.0}}}}`))
		case m.Method == mcp.MethodCallTool:
			waiting = m
			say(m, ask(`"q"`, mcp.MethodElicit, `{"n":1.0}`))
		case m.IsAnswer():
			say(waiting, discoverLine(`{"got":`+string(m.Result)+`}`))
		}
	}
	return 0
}

// B1, B8: with a real process of either era, questions and changes look the same to the caller.
func TestProcessesThatAsk(t *testing.T) {
	for _, mode := range []string{"asks-modern", "asks-legacy"} {
		t.Run(mode, func(t *testing.T) {
			told := make(chan string, 1)
			answer := answering(func(m *mcp.Message) string { return `{"action":"accept","content":` + string(m.Params) + `}` })
			s := connect(t, stdio.New(stdio.Options{
				Command: os.Args[0],
				Env:     map[string]string{"USHER_CLIENT_TEST_SERVER": mode, "GOCOVERDIR": t.TempDir()},
			}), Options{
				Name: "x", Capabilities: []byte(`{"elicitation":{}}`), Listen: Listen{URIs: []string{"f:1"}},
				OnRequest: func(ctx context.Context, m *mcp.Message) (*mcp.Message, error) { return answer.Request(ctx, m) },
				OnNotify:  func(m *mcp.Message) { told <- m.Method + string(m.Params) },
			})
			if got := <-told; got != `notifications/resources/updated{"uri":"f:1"}` {
				t.Errorf("told %s", got)
			}
			if m := callTool(t, s, `{"name":"x"}`, answer); string(m.Result) != `{"got":{"action":"accept","content":{"n":1.0}}}` {
				t.Errorf("got %s", m.Result)
			}
		})
	}
}
