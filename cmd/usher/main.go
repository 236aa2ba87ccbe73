// Command usher is one gate between agents and MCP servers: it lists and calls their tools, asks before what is not
// plainly safe, records every step, and serves all of it to other agents.
package main

import (
	"os"

	"github.com/usher-mcp/usher/cmd/usher/internal/cli"
)

func main() { os.Exit(cli.Main()) }
