// Command floor runs the benchmark baseline as a process of its own:
//
//	floor -listen 127.0.0.1:8080 -url http://127.0.0.1:9000/mcp
//	floor -listen 127.0.0.1:8080 COMMAND ARGS...
//
// It prints the address it listens on, so that port 0 can be asked for, and
// ends on an interrupt. See package floor for what it is, and is not, for.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/usher-mcp/usher/bench/floor"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on")
	upstream := flag.String("url", "", "`URL` of an MCP server; without it, the arguments are a command to start")
	flag.Parse()
	if err := run(*listen, *upstream, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(listen, upstream string, argv []string) error {
	if (upstream == "") == (len(argv) == 0) {
		return fmt.Errorf("floor: give either -url or a command, see floor -h")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	if upstream != "" {
		u, err := url.Parse(upstream)
		if err != nil {
			return err
		}
		return floor.ServeHTTP(ctx, l, u)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	return floor.ServeStdio(ctx, l, cmd)
}
