// Command server is an MCP server that can be broken while it works. It speaks over stdio, or over HTTP, WebSocket,
// HTTP+SSE or gRPC with -listen; over a socket -control it is told how to fail. Each call that reaches it is a line in
// the file -journal, synced before the call runs: what isn't there didn't run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

var (
	name    = flag.String("name", "test", "who it is: stands in each answer")
	journal = flag.String("journal", "", "file that gets a line for each call")
	control = flag.String("control", "", "folder for the control socket")
	listen  = flag.String("listen", "", "http, modern (HTTP of 2026-07-28), ws, sse or grpc; default stdio")
	stream  = flag.Bool("stream", false, "over HTTP, answer with a stream of events")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() error {
	file, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c := &core{name: *name, modern: *listen == "modern", journal: file, flying: map[string]bool{}}
	if *listen == "" {
		s := &pipes{core: c}
		if err := listenControl(*control, c, s.act); err != nil {
			return err
		}
		return s.serve()
	}
	if err := listenControl(*control, c, func(string, int) bool { return false }); err != nil {
		return err
	}
	address, err := listenOn(*listen, c)
	if err != nil {
		return err
	}
	fmt.Println(address)
	_, err = io.Copy(io.Discard, os.Stdin) // it lives as long as its parent wants
	return err
}
