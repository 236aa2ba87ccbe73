// Command driver runs seeds of package chaos and prints what came of them. Each of its workers is a process of its own,
// whose children, descriptors and goroutines are those of one seed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/test/chaos"
)

var (
	first   = flag.Uint64("seed", 1, "the first seed")
	n       = flag.Int("n", 1, "how many seeds, one after the other")
	file    = flag.String("seeds", "", "file with a seed on each line, in place of -seed and -n")
	server  = flag.String("server", "", "the program of test/chaos/server; default: it is built")
	root    = flag.String("root", ".", "the folder of the module")
	workers = flag.Int("workers", 3, "how many seeds run at once")
	show    = flag.Bool("plan", false, "print the plan of the seed and run nothing")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(sandbox.Watchdog(os.Args[2:]))
	}
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run() error {
	script := filepath.Join(*root, "test", "verify", "verify.py")
	if flag.Arg(0) == "worker" {
		return work(script)
	}
	if *show {
		b, err := json.MarshalIndent(chaos.NewPlan(*first), "", "  ")
		fmt.Println(string(b))
		return err
	}
	seeds, err := seedList()
	if err != nil {
		return err
	}
	program := *server
	if program == "" {
		dir, err := os.MkdirTemp("", "usher-chaos-build-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "server")
		cmd := exec.Command("go", "build", "-o", program, "./test/chaos/server")
		cmd.Dir, cmd.Stderr = *root, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	return all(seeds, program)
}

// work runs the seeds that come on standard input, and writes a report for each.
func work(script string) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var seed uint64
		if in.Decode(&seed) != nil {
			return nil
		}
		r, err := one(seed, script)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

func one(seed uint64, script string) (chaos.Report, error) {
	dir, err := chaos.Folder()
	if err != nil {
		return chaos.Report{}, err
	}
	o := chaos.Options{Server: *server, Watchdog: []string{"/proc/self/exe", "__watchdog"}, Dir: dir}
	r, err := chaos.Run(context.Background(), o, chaos.NewPlan(seed), script)
	if err != nil || len(r.Problems) > 0 {
		return r, err // what is in the folder may tell more
	}
	return r, os.RemoveAll(dir)
}
