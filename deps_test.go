package usher_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// order is the import order: a package may import only packages above it. ARCHITECTURE.md says what each one does.
var order = []string{
	"internal/killpoint",
	"internal/nearest",
	"internal/lifecycle",
	"mcp",
	"fault",
	"internal/secret",
	"internal/duplex",
	"internal/eventstream",
	"event",
	"event/eventtest",
	"event/journal",
	"event/index",
	"config",
	"config/foreign",
	"internal/connect",
	"internal/keyring/keyringtest",
	"internal/keyring",
	"internal/dial",
	"internal/wake",
	"internal/socket",
	"internal/ancestry",
	"internal/sandbox",
	"internal/resolved",
	"transport",
	"transport/transporttest",
	"transport/stdio",
	"transport/http",
	"transport/sse",
	"transport/ws",
	"transport/grpc/mcpv1",
	"transport/grpc",
	"transport/local",
	"gosdk",
	"internal/client",
	"permission",
	"internal/condition",
	"internal/approval",
	"internal/flow",
	"internal/schema",
	"internal/schema/repair",
	"internal/catalog",
	"internal/upstream",
	"internal/router",
	".", // the root package
	"internal/builtin",
	"internal/store/sqlite",
	"standard",
	"internal/admin",
	"internal/gateway",
	"cmd/usher/internal/cli",
	"cmd/usher",
}

// forbidden are imports that would bring in what a package must not know.
var forbidden = map[string][]string{
	"internal/client": {
		"transport/stdio", "transport/http", "transport/sse", "transport/ws", "transport/grpc", "transport/local", "event", "permission",
	}, // A3
	".": {
		"transport/stdio", "transport/http", "transport/sse", "transport/ws", "transport/grpc", "event/journal", "config", "internal/sandbox",
		"internal/client", "internal/condition",
	},
	"internal/builtin": {"internal/upstream", "internal/client"},
	"internal/gateway": {"internal/upstream", "internal/client", "internal/router"}, // A2: only through a Session
}

// A2, A3: what may import what.
func TestImportOrder(t *testing.T) {
	place := map[string]int{}
	for i, p := range order {
		place[p] = i
	}
	seen := map[string]bool{}
	for _, p := range list(t) {
		at, ok := place[p.name]
		if !ok {
			if !strings.HasPrefix(p.name, "test/") && !strings.HasPrefix(p.name, "bench/") {
				t.Errorf("%s is not in the import order: add it to deps_test.go and ARCHITECTURE.md", p.name)
			}
			continue
		}
		seen[p.name] = true
		for _, imported := range p.imports {
			if place[imported] >= at {
				t.Errorf("%s imports %s, which is below it", p.name, imported)
			}
			for _, f := range forbidden[p.name] {
				if imported == f {
					t.Errorf("%s must not import %s", p.name, imported)
				}
			}
		}
	}
	for _, p := range order {
		if !seen[p] {
			t.Errorf("%s is in the import order, but there is no such package", p)
		}
	}
}

// Every package says what it does.
func TestPackageComments(t *testing.T) {
	for _, p := range list(t) {
		if !strings.HasPrefix(p.doc, "Package ") && !strings.HasPrefix(p.doc, "Command ") {
			t.Errorf("%s has no package comment that begins with Package or Command", p.name)
		}
	}
}

type goPackage struct {
	name    string
	doc     string
	imports []string
}

// list asks the go command for the packages of this module.
func list(t *testing.T) []goPackage {
	t.Helper()
	const module = "github.com/usher-mcp/usher"
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,GoFiles,Imports", "./...")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	short := func(path string) string {
		if path == module {
			return "."
		}
		return strings.TrimPrefix(path, module+"/")
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Doc  string
			GoFiles, Imports []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) == 0 {
			continue // tests only: the go command doesn't tell their comment
		}
		g := goPackage{name: short(p.ImportPath), doc: p.Doc}
		for _, i := range p.Imports {
			if i == module || strings.HasPrefix(i, module+"/") {
				g.imports = append(g.imports, short(i))
			}
		}
		all = append(all, g)
	}
}
