package real_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/standard"
)

// server is a server that somebody else wrote, and one call that works offline.
type server struct {
	name      string
	entry     func(t *testing.T, h *home) map[string]any
	tool      string
	args      string
	says      string
	era       string
	revision  string
	leastOver int // least number of tools
}

func stdioEntry(command string, args ...string) func(*testing.T, *home) map[string]any {
	return func(*testing.T, *home) map[string]any {
		return map[string]any{"command": command, "args": append([]string{}, args...)}
	}
}

// httpEntry starts the server on a port of its own.
func httpEntry(path string, start func(address string) *exec.Cmd) func(*testing.T, *home) map[string]any {
	return func(t *testing.T, _ *home) map[string]any {
		address := freeAddress(t)
		background(t, address, start(address))
		return map[string]any{"url": "http://" + address + path}
	}
}

func goServer(stateless string) func(address string) *exec.Cmd {
	return func(address string) *exec.Cmd {
		return exec.Command("bin/everything-server", "-http", address, "-stateless="+stateless)
	}
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

var servers = []server{
	{"everything", stdioEntry("mcp-server-everything", "stdio"), "echo", `{"message":"hi"}`, "Echo: hi", "legacy", "2025-11-25", 10},
	{"filesystem", func(_ *testing.T, h *home) map[string]any {
		return map[string]any{"command": "mcp-server-filesystem", "args": []string{h.work}}
	}, "read_text_file", `{"path":"hello.txt"}`, "hello from a file", "legacy", "2025-11-25", 14},
	// Prints a banner on stdout before its first message.
	{"time-mcp", stdioEntry("time-mcp"), "current_time", `{"format":"YYYY-MM-DD","timezone":"UTC"}`, "20", "legacy", "2025-11-25", 6},
	// Written in Rust; exits when its first message is the probe.
	{"cortex", func(t *testing.T, h *home) map[string]any {
		return map[string]any{"command": absolute("node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp"), "env": map[string]string{"HOME": h.dir}}
	}, "resolve_datetime", `{"expression":"tomorrow at 2pm"}`, "T14:00:00", "legacy", "2025-06-18", 18},
	{"go-stdio", func(*testing.T, *home) map[string]any {
		return map[string]any{"command": absolute("bin/everything-server")}
	}, "test_simple_text", `{}`, "simple text response", "modern", "2026-07-28", 20},
	{"go-http-stateless", httpEntry("/", goServer("true")), "test_simple_text", `{}`, "simple text response", "modern", "2026-07-28", 20},
	{"go-http-sessions", httpEntry("/", goServer("false")), "test_simple_text", `{}`, "simple text response", "legacy", "2025-11-25", 20},
	{"everything-http", httpEntry("/mcp", func(address string) *exec.Cmd {
		return node(address, "mcp-server-everything", "streamableHttp")
	}), "echo", `{"message":"hi"}`, "Echo: hi", "legacy", "2025-11-25", 10},
	// HTTP+SSE of 2024-11-05, named in the entry, and found because Streamable HTTP fails.
	{"everything-sse", typed("sse", everythingSSE), "echo", `{"message":"hi"}`, "Echo: hi", "legacy", "2025-11-25", 10},
	{"everything-sse-found", everythingSSE, "echo", `{"message":"hi"}`, "Echo: hi", "legacy", "2025-11-25", 10},
	{"gopls-sse-found", gopls, "go_workspace", `{}`, "example.com/hello", "legacy", "2025-11-25", 8},
	// The TypeScript SDK v2, which speaks both eras.
	{"dbhub-http", httpEntry("/mcp", func(address string) *exec.Cmd {
		_, port, _ := strings.Cut(address, ":")
		return node(address, "dbhub", "--transport", "http", "--port", port, "--demo")
	}), "search_objects", `{"object_type":"table","pattern":"employee%"}`, `"employee"`, "modern", "2026-07-28", 2},
	// Written in Go; with a session, and without one.
	{"kubernetes-http", kubernetes(), "configuration_view", `{}`, "nowhere.invalid", "legacy", "2025-11-25", 10},
	{"kubernetes-http-stateless", kubernetes("--stateless"), "configuration_view", `{}`, "nowhere.invalid", "modern", "2026-07-28", 10},
}

var everythingSSE = httpEntry("/sse", func(address string) *exec.Cmd {
	return node(address, "mcp-server-everything", "sse")
})

// gopls writes to its home: it has one of its own, in which its telemetry is off.
func gopls(t *testing.T, h *home) map[string]any {
	for path, text := range map[string]string{
		"work/go.mod":               "module example.com/hello\n\ngo 1.26\n",
		"work/hello.go":             "package hello\n",
		".config/go/telemetry/mode": "off 2026-01-01",
	} {
		path = filepath.Join(h.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return httpEntry("/sse", func(address string) *exec.Cmd {
		cmd := exec.Command(absolute("bin/gopls"), "mcp", "-listen="+address)
		cmd.Dir = h.work
		cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "GOTOOLCHAIN=local", "GOPROXY=off")
		return cmd
	})(t, h)
}

// typed names the transport in an entry.
func typed(kind string, entry func(*testing.T, *home) map[string]any) func(*testing.T, *home) map[string]any {
	return func(t *testing.T, h *home) map[string]any {
		e := entry(t, h)
		e["type"] = kind
		return e
	}
}

// node makes a command of node_modules/.bin that listens on address, whatever it would by itself.
func node(address, name string, args ...string) *exec.Cmd {
	cmd := exec.Command("node", append([]string{"--import", "./loopback.mjs", "node_modules/.bin/" + name}, args...)...)
	_, port, _ := strings.Cut(address, ":")
	cmd.Env = append(os.Environ(), "PORT="+port)
	return cmd
}

const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://nowhere.invalid"}}],
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}
`

func kubernetes(flags ...string) func(*testing.T, *home) map[string]any {
	return func(t *testing.T, h *home) map[string]any {
		config := filepath.Join(h.dir, "kubeconfig")
		if err := os.WriteFile(config, []byte(kubeconfig), 0o600); err != nil {
			t.Fatal(err)
		}
		return httpEntry("/mcp", func(address string) *exec.Cmd {
			_, port, _ := strings.Cut(address, ":")
			args := append([]string{"--bind-address", "127.0.0.1", "--port", port, "--kubeconfig", config}, flags...)
			return exec.Command("node_modules/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64", args...)
		})(t, h)
	}
}

// B1, B2, B3, B8, B10, C1: each server is found in its own era, listed and called, with what it does wrong.
func TestServers(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			entry := s.entry(t, h)
			entry["trustHints"] = true
			h.configure(t, map[string]any{s.name: entry}, "mcp."+s.name+".*")
			host, session := open(t, h)
			result, err := session.Call(t.Context(), "mcp."+s.name+"."+s.tool, json.RawMessage(s.args))
			if err != nil {
				t.Fatalf("%v\n%+v", err, host.Servers())
			}
			if result.IsError || !strings.Contains(result.Text(), s.says) {
				t.Errorf("%s answered %s", s.tool, result.Raw)
			}
			status := host.Servers()[0]
			if status.Era != s.era || status.Revision != s.revision || status.Tools < s.leastOver {
				t.Errorf("found era %s, revision %s, %d tools (%s)", status.Era, status.Revision, status.Tools, status.Why)
			}
			if strings.HasSuffix(s.name, "-found") && !strings.Contains(status.Why, "the way of 2024-11-05") {
				t.Errorf("it wasn't found by fallback: %s", status.Why)
			}
			if s.name == "time-mcp" && (status.StrayLines == 0 || !strings.Contains(status.StraySample, "Starting Time MCP")) {
				t.Errorf("its banner was not counted: %d %q", status.StrayLines, status.StraySample)
			}
			verified(t, host)
		})
	}
}

func open(t *testing.T, h *home) (*standard.Host, *usher.Session) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host, err := standard.Open(context.Background(), standard.Options{
		ConfigPath: h.config, DataDir: filepath.Join(h.dir, "data"), Dir: h.work, Watchdog: []string{self, "__watchdog"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	for _, p := range host.Problems {
		t.Error(p)
	}
	session, err := host.Session(usher.SessionOptions{Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return host, session
}

// verified closes the host and verifies its log.
func verified(t *testing.T, host *standard.Host) {
	t.Helper()
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	report, err := journal.Verify(standard.JournalDir(host.DataDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Error(p)
	}
}
