package config

import (
	"strings"
	"testing"
	"time"
)

func TestRunsPackage(t *testing.T) { // C8
	for line, want := range map[string]bool{
		"npx -y @modelcontextprotocol/server-filesystem /x": true,
		"/usr/local/bin/npx x":                              true,
		`C:\Program_Files\nodejs\NPX.CMD x`:                 true,
		"npm exec -- x":                                     true,
		"npm --prefix /srv x thing":                         true,
		"npm run start":                                     false,
		"npm start":                                         false,
		"pnpm dlx x":                                        true,
		"pnpm exec x":                                       false,
		"pnpx x":                                            true,
		"yarn dlx x":                                        true,
		"yarn node x.js":                                    false,
		"bunx x":                                            true,
		"bun x thing":                                       true,
		"bun server.ts":                                     false,
		"uvx mcp-server-git":                                true,
		"uv run server.py":                                  true,
		"uv --directory /srv run server.py":                 true,
		"uv --directory=/srv run server.py":                 true,
		"uv tool run x":                                     true,
		"uv --quiet tool --offline run x":                   true,
		"uv pip install run":                                false,
		"pipx run x":                                        true,
		"pipx list":                                         false,
		"docker run -i --rm mcp/x":                          true,
		"docker --context far run x":                        true,
		"docker container run x":                            true,
		"docker compose run x":                              true,
		"docker mcp gateway run":                            true,
		"docker exec -i box run":                            false,
		"podman run x":                                      true,
		"deno run -A npm:x":                                 true,
		"deno task start":                                   false,
		"go run ./cmd/x":                                    true,
		"go -C /srv run .":                                  true,
		"cargo run --release":                               true,
		"cargo +nightly run":                                true,
		"cargo build":                                       false,
		"dotnet run --project x":                            true,
		"dotnet x.dll":                                      false,
		"dnx x":                                             true,
		"nix run nixpkgs#x":                                 true,
		"env A=b npx x":                                     true,
		"env -i A=b node x":                                 false,
		"sh -c npx x":                                       true,
		"bash -lc exec npx x":                               true,
		"sh server.sh":                                      false,
		"cmd /c npx x":                                      true,
		"cmd /c env A=b cmd /c env sh -c npx":               false, // too deep to care
		"node npx":                                          false,
		"python -m run":                                     false,
		"fs":                                                false,
		"":                                                  false,
		"sh -c":                                             false,
		"env":                                               false,
	} {
		words := strings.Split(line, " ")
		if got := runsPackage(words[0], words[1:]); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestFirstStartOfRunners(t *testing.T) { // C8
	for _, tt := range []struct {
		root, entry    string
		first, further time.Duration
	}{
		{"", `"command": "npx", "args": ["x"]`, 2 * time.Minute, 10 * time.Second},
		{"", `"command": "node"`, 10 * time.Second, 10 * time.Second},
		{"", `"command": "npx", "startTimeout": "5s"`, 5 * time.Second, 5 * time.Second},
		{"", `"command": "npx", "startTimeout": 0`, 2 * time.Minute, 10 * time.Second},
		{`"defaults": {"startTimeout": "5s"},`, `"command": "npx"`, 2 * time.Minute, 5 * time.Second},
		{`"defaults": {"startTimeout": "5s"},`, `"command": "node"`, 5 * time.Second, 5 * time.Second},
		{`"defaults": {"startTimeout": "5m"},`, `"command": "npx"`, 5 * time.Minute, 5 * time.Minute},
		{"", `"url": "https://npx"`, 10 * time.Second, 10 * time.Second},
	} {
		s := parseWith(t, tt.root, tt.entry)
		if s.Lifecycle.FirstConnect != tt.first || s.Lifecycle.Connect != tt.further {
			t.Errorf("%s %s: %v, then %v", tt.root, tt.entry, s.Lifecycle.FirstConnect, s.Lifecycle.Connect)
		}
	}
}
