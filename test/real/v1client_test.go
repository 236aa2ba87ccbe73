package real_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// visit is what v1client.mjs prints.
type visit struct {
	Server      string
	Tools       []string
	Answers     []json.RawMessage
	Errors      []string
	Subprotocol string // of a WebSocket, as are the next two
	Clean       bool   // it ended with the closing handshake
	Code        websocket.StatusCode
}

func v1Client(t *testing.T, kind, url, calls string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, "node", "v1client.mjs", kind, url, calls)
}

func visited(t *testing.T, printed string) visit {
	t.Helper()
	var v visit
	if err := json.Unmarshal([]byte(printed), &v); err != nil {
		t.Fatalf("v1client.mjs printed %q: %v", printed, err)
	}
	return v
}

// B3, B4, O1: the client of the TypeScript SDK v1 at `usher serve`.
func TestTypeScriptV1Client(t *testing.T) {
	ends := fsHome(t).serveAll(t)
	for kind, url := range map[string]string{"ws": ends.WS, "sse": ends.SSE} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := visited(t, command(t, v1Client(t, kind, url, v1Calls(t))))
			if v.Server != "usher" || len(v.Errors) > 0 {
				t.Errorf("it met %q, with the errors %q", v.Server, v.Errors)
			}
			if kind == "ws" && (v.Subprotocol != "mcp" || !v.Clean) {
				t.Errorf("the socket of subprotocol %q ended with %d, clean: %v", v.Subprotocol, v.Code, v.Clean)
			}
			v.check(t)
		})
	}
}

const rounds = 10

// v1Calls are rounds of calls, all at once, and a last one of a tool that doesn't exist.
func v1Calls(t *testing.T) string {
	t.Helper()
	type call struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	var all []call
	for range rounds {
		for _, c := range calls {
			all = append(all, call{c.tool, json.RawMessage(c.args)})
		}
	}
	b, err := json.Marshal(append(all, call{"mcp__fs__nothing", json.RawMessage(`{}`)}))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// check looks at the list, and at the answers to v1Calls.
func (v visit) check(t *testing.T) {
	t.Helper()
	if len(v.Answers) != rounds*len(calls)+1 {
		t.Fatalf("%d answers", len(v.Answers))
	}
	for i, c := range calls {
		if !slices.Contains(v.Tools, c.tool) {
			t.Errorf("the list has no %s", c.tool)
		}
		for n := range rounds {
			if got := string(v.Answers[n*len(calls)+i]); !strings.Contains(got, c.says) {
				t.Errorf("%s answered %s", c.tool, got)
			}
		}
	}
	if got := string(v.Answers[rounds*len(calls)]); got != `{"error":-32602}` {
		t.Errorf("a tool that doesn't exist answered %s", got)
	}
}

// B4: when `usher serve` is stopped, a WebSocket client is told that it goes away, and the socket ends cleanly.
func TestServeStopsUnderWebSocketClient(t *testing.T) {
	var client *exec.Cmd
	var out *bufio.Reader
	t.Run("serve", func(sub *testing.T) { // usher is stopped when this ends
		h := newHome(sub)
		h.configure(sub, map[string]any{})
		client = v1Client(t, "ws", h.serveAll(sub).WS, "wait")
		client.Stderr = t.Output()
		pipe, err := client.StdoutPipe()
		if err != nil {
			sub.Fatal(err)
		}
		if err := client.Start(); err != nil {
			sub.Fatal(err)
		}
		out = bufio.NewReader(pipe)
		if line, err := out.ReadString('\n'); line != "up\n" {
			sub.Errorf("v1client.mjs printed %q, %v", line, err)
		}
	})
	if out == nil {
		return
	}
	rest, err := io.ReadAll(out)
	if waited := client.Wait(); err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	v := visited(t, string(rest))
	if v.Code != websocket.StatusGoingAway || !v.Clean || len(v.Errors) > 0 {
		t.Errorf("the socket ended with %d, clean: %v, errors: %q", v.Code, v.Clean, v.Errors)
	}
}
