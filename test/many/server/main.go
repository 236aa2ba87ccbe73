// Command server is a tiny MCP server over stdio that writes down, with the time of each, what happens to it: its start,
// that it listed its tools, and the signals that it gets. As its own watchdog it is one; see sandbox.Launcher.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/stdio"
)

var (
	journal = flag.String("journal", "", "file that gets a line for each thing that happens")
	greet   = flag.Duration("greet", 0, "how long it takes to answer the handshake")
	work    = flag.Duration("work", 0, "how long it takes to answer a call")
	dies    = flag.String("dies", "int", "on which signal it ends: int, term or kill; the end of its input never ends it")
)

const (
	greeted = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`
	listed  = `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(sandbox.Watchdog(os.Args[2:]))
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	flag.Parse()
	note("start")
	go func() { _ = stdio.Serve(context.Background(), os.Stdin, os.Stdout, mcp.HandlerFunc(handle)) }()
	for s := range signals {
		note(s.String())
		if s == syscall.SIGINT && *dies == "int" || s == syscall.SIGTERM && *dies == "term" {
			return
		}
	}
}

// note writes a line of what, the time in nanoseconds, and our pid.
func note(what string) {
	line := fmt.Sprintf("%s %d %d\n", what, time.Now().UnixNano(), os.Getpid())
	f, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

func handle(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch {
	case req.IsNotification():
		return nil, nil
	case req.Method == mcp.MethodInitialize:
		time.Sleep(*greet)
		return mcp.Answer(req.ID, []byte(greeted)), nil
	case req.Method == mcp.MethodListTools:
		note("listed")
		return mcp.Answer(req.ID, []byte(listed)), nil
	case req.Method == mcp.MethodPing:
		return mcp.Answer(req.ID, []byte(`{}`)), nil
	case req.Method == mcp.MethodCallTool:
		time.Sleep(*work)
		return mcp.Answer(req.ID, mcp.TextResult("here", false)), nil
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "Method not found", nil), nil
}
