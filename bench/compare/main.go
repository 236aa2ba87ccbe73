// Command compare prints how Usher fares against its budgets, each as a ratio or a difference to a floor that is
// measured in the same run: the floor proxy, a raw pipe, a direct call. The machine's own speed cancels out; what is
// compared takes turns, and the median of seven rounds counts.
//
// The numbers are for reading. It fails only when it can't measure.
package main

import (
	"fmt"
	"os"

	"github.com/usher-mcp/usher/standard"
)

func main() {
	if len(os.Args) > 1 {
		play(os.Args[1])
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// play is what the child processes of a run do: this program is its own servers.
func play(part string) {
	var err error
	switch part {
	case "__watchdog":
		os.Exit(standard.Watchdog())
	case "upstream-stdio":
		err = serveStdio(os.Stdin, os.Stdout)
	case "upstream-http":
		err = serveHTTP()
	case "floor-stdio":
		err = floorStdio()
	case "floor-http":
		err = floorHTTP(os.Args[2])
	case "gateway":
		err = gatewayChild(os.Args[2])
	default:
		err = fmt.Errorf("no part %q", part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		os.Exit(1)
	}
}

func run() error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	fmt.Printf("%-58s %12s %12s %10s  %s\n", "", "usher", "floor", "", "budget")
	for _, part := range []func(*world) error{gatewayLatency, gatewayThroughput, builtinTool, stdioPath, allocations} {
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

func row(what, usher, floor, result, budget string) {
	fmt.Printf("%-58s %12s %12s %10s  %s\n", what, usher, floor, result, budget)
}
