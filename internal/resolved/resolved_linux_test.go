package resolved_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/resolved"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes files; a value that begins with -> is a link, one that begins with #! can be run.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(to, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Layouts as npx, pnpm dlx, bunx, uvx and pipx make them.
func layouts(t *testing.T) string {
	const script = "#!/bin/sh\necho up\nread line\n"
	return tree(t, map[string]string{
		"_npx/1a/node_modules/.bin/srv":                "->../@acme/srv/dist/index.js",
		"_npx/1a/node_modules/@acme/srv/dist/index.js": script,
		"_npx/1a/node_modules/@acme/srv/package.json":  `{"name":"@acme/srv","version":"1.2.3-beta.1"}`,
		"_npx/1a/package.json":                         `{"name":"wrong","version":"0.0.0"}`,

		"dlx/node_modules/.bin/srv":                                      "#!/bin/sh\nexec sh \"$(dirname \"$0\")/../srv/cli.js\" \"$@\"\n",
		"dlx/node_modules/srv":                                           "->.pnpm/srv@2.0.0/node_modules/srv",
		"dlx/node_modules/.pnpm/srv@2.0.0/node_modules/srv/cli.js":       script,
		"dlx/node_modules/.pnpm/srv@2.0.0/node_modules/srv/package.json": `{"name":"srv","version":"2.0.0"}`,

		"uv/bin/mcp-srv": script,
		"uv/lib/python3.12/site-packages/other-9.dist-info/entry_points.txt":        "[console_scripts]\nmcp-srv-x = a:b\n[gui_scripts]\nmcp-srv = no:no\n",
		"uv/lib/python3.12/site-packages/other-9.dist-info/METADATA":                "Name: other\nVersion: 9\n\n",
		"uv/lib/python3.12/site-packages/mcp_srv-2026.1.dist-info/entry_points.txt": "[console_scripts]\nmcp-srv = mcp_srv:main\n",
		"uv/lib/python3.12/site-packages/mcp_srv-2026.1.dist-info/METADATA":         "Metadata-Version: 2.4\nName: mcp-srv\nVersion: 2026.1\nSummary: x\n\nVersion: 7\n",
		"local/mcp-srv": "->../uv/bin/mcp-srv",

		"lib/node_modules/npm/bin/npx-cli.js": "#!/bin/sh\n\"$@\"\nexit 0\n",
		"lib/node_modules/npm/package.json":   `{"name":"npm","version":"11.0.0"}`,

		"plain/server.sh":                 script,
		"bad/node_modules/a/x.js":         script,
		"bad/node_modules/a/package.json": `{"name":"a b","version":"1"}`,
		"bad/node_modules/b/x.js":         script,
		"bad/node_modules/b/package.json": `{"name":"b","version":"1\u001b[0m"}`,
		"bad/node_modules/c/x.js":         script,
	})
}

// F4: what a runner's package resolved to is found in the processes that it became.
func TestOf(t *testing.T) {
	root := layouts(t)
	for _, c := range []struct {
		name, want string
		argv       []string
	}{
		{"npx", "npm:@acme/srv@1.2.3-beta.1", []string{"_npx/1a/node_modules/.bin/srv", "--port", "1"}},
		{"below a runner and a shell", "npm:@acme/srv@1.2.3-beta.1", []string{"lib/node_modules/npm/bin/npx-cli.js", "sh", "-c", "_npx/1a/node_modules/.bin/srv; true"}},
		{"pnpm dlx", "npm:srv@2.0.0", []string{"dlx/node_modules/.bin/srv"}},
		{"uvx", "pypi:mcp-srv@2026.1", []string{"uv/bin/mcp-srv"}},
		{"a link into an environment", "pypi:mcp-srv@2026.1", []string{"local/mcp-srv"}},
		{"a script of its own, whatever its arguments", "", []string{"plain/server.sh", "_npx/1a/node_modules/@acme/srv/dist/index.js"}},
		{"a name that is none", "", []string{"bad/node_modules/a/x.js"}},
		{"a version that is none", "", []string{"bad/node_modules/b/x.js"}},
		{"no package.json", "", []string{"bad/node_modules/c/x.js"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, c.argv[0]), c.argv[1:]...)
			cmd.Dir = root
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Error(err)
			}
			if got := resolved.Of(cmd.Process.Pid); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // sh says that its input ended
		})
	}
}

// An update shows.
func TestUpdate(t *testing.T) {
	root := layouts(t)
	file := filepath.Join(root, "_npx/1a/node_modules/.bin/srv")
	before := resolved.OfFile(file)
	if err := os.WriteFile(filepath.Join(root, "_npx/1a/node_modules/@acme/srv/package.json"), []byte(`{"name":"@acme/srv","version":"1.2.4"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if after := resolved.OfFile(file); after == before || after != "npm:@acme/srv@1.2.4" {
		t.Errorf("%q after %q", after, before)
	}
}

// What isn't there, or isn't ours to read, is nothing.
func TestNothing(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if got := resolved.Of(pid); got != "" {
			t.Errorf("%d: %q", pid, got)
		}
	}
	root := tree(t, map[string]string{"node_modules/a/x.js": "", "node_modules/a/package.json": "{" + strings.Repeat(" ", 2<<20) + `"name":"a","version":"1"}`})
	for _, name := range []string{"node_modules", "node_modules/a", "node_modules/a/x.js", "gone"} {
		if got := resolved.OfFile(filepath.Join(root, name)); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
