// Command peers reaches all MCP servers by others that start without the internet, over each transport that they have,
// with usher's own client: it lists what they offer, calls one tool, and prints a table. It ends with 1 if one of them
// couldn't be used as expected.
//
// It is no test of the servers: where a tool needs the internet or a database, its failure is what is expected.
// install.sh brings the servers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/usher-mcp/usher/standard"
)

const (
	atOnce   = 2
	peerTime = 2 * time.Minute
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(standard.Watchdog())
	}
	only := flag.String("only", "", "comma-separated `names`; a name with * at its end means all that begin so")
	flag.Parse()
	if err := run(strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	var chosen []peer
	for _, p := range peers() {
		if named(p.name, only) {
			chosen = append(chosen, p)
		}
	}
	rows := make([]row, len(chosen))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, p := range chosen {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(context.Background(), peerTime)
			defer cancel()
			rows[i] = w.visit(ctx, p)
			fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, rows[i].outcome)
		})
	}
	all.Wait()
	return show(rows)
}

func named(name string, only []string) bool {
	for _, o := range only {
		prefix, all := strings.CutSuffix(o, "*")
		if o == "" || o == name || all && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func show(rows []row) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "server\ttransport\tera\trevision\ttools\tresources\ttemplates\tprompts\tms\tcall\toutcome")
	bad := 0
	for _, r := range rows {
		if !r.good {
			bad++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\n", r.name, r.transport, r.era, r.revision,
			r.tools, r.resources, r.templates, r.prompts, r.took.Milliseconds(), r.call, r.outcome)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%d servers, %d not as expected\n", len(rows), bad)
	if bad > 0 {
		return fmt.Errorf("%d of %d servers were not as expected", bad, len(rows))
	}
	return nil
}

// world is a scratch folder that all servers work in, and where their programs lie.
type world struct {
	here, parts string // this folder, test/real
	dir         string // the scratch folder
	watchdog    []string
}

func newWorld() (*world, error) {
	here, err := filepath.Abs("test/peers")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(here, "node_modules")); err != nil {
		return nil, fmt.Errorf("run it with make peers, in the root of the module: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &world{here: here, parts: filepath.Join(here, "..", "real"), watchdog: []string{exe, "__watchdog"}}
	if w.dir, err = os.MkdirTemp("", "usher-peers-"); err != nil {
		return nil, err
	}
	return w, w.fill()
}

// kubeconfig names a cluster that doesn't exist.
const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://nowhere.invalid"}}],
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}
`

func (w *world) fill() error {
	for name, text := range map[string]string{
		"hello.txt": "hello from a file\n", "kubeconfig": kubeconfig, "go.mod": "module example.org/peers\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n", "eslint.config.mjs": "export default [];\n", "x.js": "const a = 1;\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	path := filepath.Join(w.parts, "node_modules", ".bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	return os.Setenv("PATH", path) // its Node is the one that the servers need
}

func (w *world) close() { _ = os.RemoveAll(w.dir) }
