package real_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspect runs the Inspector's command line and returns the result of a method.
func inspect(t *testing.T, args ...string) json.RawMessage {
	t.Helper()
	out := command(t, exec.CommandContext(t.Context(), "mcp-inspector", append([]string{"--cli", "--format", "json", "-q"}, args...)...))
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Result == nil {
		t.Fatalf("the inspector printed %q", out)
	}
	return answer.Result
}

func fsHome(t *testing.T) *home {
	h := newHome(t)
	h.configure(t, map[string]any{"fs": map[string]any{"command": "mcp-server-filesystem", "args": []string{h.work}}})
	return h
}

// calls are what each client does through the gate: a built-in tool, and a server's.
var calls = []struct{ tool, args, says string }{
	{"local__read_file", `{"path":"hello.txt"}`, "hello from a file"},
	{"mcp__fs__read_text_file", `{"path":"hello.txt"}`, "hello from a file"},
}

// checkGate lists and calls through target, the Inspector's arguments for reaching Usher.
func checkGate(t *testing.T, target ...string) {
	t.Helper()
	list := string(inspect(t, append([]string{"--method", "tools/list"}, target...)...))
	for _, c := range calls {
		if !strings.Contains(list, `"`+c.tool+`"`) {
			t.Errorf("the list has no %s", c.tool)
		}
		args := []string{"--method", "tools/call", "--tool-name", c.tool, "--tool-args-json", c.args}
		if got := string(inspect(t, append(args, target...)...)); !strings.Contains(got, c.says) {
			t.Errorf("%s answered %s", c.tool, got)
		}
	}
}

// O1: the Inspector, in each era, through `usher serve`.
func TestInspectorOverHTTP(t *testing.T) {
	url := fsHome(t).serve(t)
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			checkGate(t, "--protocol-era", era, "--server-url", url, "--transport", "http")
		})
	}
}

// O1: the Inspector, in each era, through `usher stdio`.
func TestInspectorOverStdio(t *testing.T) {
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			h := fsHome(t)
			checkGate(t, "--protocol-era", era, "-e", "USHER_CONFIG="+h.config, "-e", "USHER_DATA="+filepath.Join(h.dir, "data"),
				usherBinary, "stdio", "--dir", h.work) // the Inspector has a --config of its own
		})
	}
}

// A call that needs a person's word is answered, in the gateway, with the command that gives it; then the call passes.
func TestAllowCommandFromTheGateway(t *testing.T) {
	h := newHome(t)
	h.configure(t, map[string]any{"ev": map[string]any{"command": "mcp-server-everything", "args": []string{"stdio"}, "trustHints": false}})
	url := h.serve(t)
	echo := []string{"--cli", "--format", "json", "-q", "--method", "tools/call", "--tool-name", "mcp__ev__echo", "--tool-args-json", `{"message":"hi"}`, "--server-url", url, "--transport", "http"}
	out, err := exec.CommandContext(t.Context(), "mcp-inspector", echo...).Output()
	if err == nil || !strings.Contains(string(out), " allow 'mcp.ev.echo'") {
		t.Fatalf("got %s, %v", out, err)
	}
	command(t, h.usher(t.Context(), "allow", "mcp.ev.echo"))
	got := ""
	for range 20 { // the gateway looks at the file once a second
		out, err := exec.CommandContext(t.Context(), "mcp-inspector", echo...).Output()
		if got = string(out); err == nil {
			break
		}
	}
	if !strings.Contains(got, "Echo: hi") {
		t.Errorf("after usher allow: %s", got)
	}
}

// N3: a person's call from the terminal to a real server and back, and its chain in the log.
func TestCallFromTheTerminal(t *testing.T) {
	h := fsHome(t)
	if got := command(t, h.usher(t.Context(), "call", "mcp.fs.read_text_file", "path=hello.txt")); got != "hello from a file\n" {
		t.Errorf("got %q", got)
	}
	var types []string
	for line := range strings.Lines(command(t, h.usher(t.Context(), "events", "--json"))) {
		var e struct {
			Type, Session string
			Data          json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.HasPrefix(e.Type, "mcp.call.") || strings.HasPrefix(e.Type, "tool.") || strings.HasPrefix(e.Type, "permission.") || strings.HasPrefix(e.Type, "model.") {
			types = append(types, e.Type)
		}
	}
	want := "model.tool_call_requested permission.requested permission.resolved mcp.call.started tool.started mcp.call.completed tool.completed"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("the chain is %s", got)
	}
	command(t, h.usher(t.Context(), "events", "verify"))
}
