package resolved_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/resolved"
)

// F4: a server can put a pipe where its package's files should be; nobody waits for what comes out of it.
func TestPipesInsteadOfFiles(t *testing.T) {
	root := tree(t, map[string]string{
		"p/bin/srv": "", "p/lib/python3.12/site-packages/srv-1.dist-info/entry_points.txt": "[console_scripts]\nsrv = a:b\n",
		"n/node_modules/srv/x.js": "",
	})
	for _, pipe := range []string{"p/lib/python3.12/site-packages/srv-1.dist-info/METADATA", "n/node_modules/srv/package.json"} {
		if err := syscall.Mkfifo(filepath.Join(root, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"p/bin/srv", "n/node_modules/srv/x.js"} {
		found := make(chan string, 1)
		go func() { found <- resolved.OfFile(filepath.Join(root, file)) }()
		select {
		case got := <-found:
			if got != "" {
				t.Errorf("%s: %q", file, got)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: it waits for a pipe", file)
		}
	}
}
