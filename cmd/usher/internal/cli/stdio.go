package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) stdio() *cobra.Command {
	return &cobra.Command{
		Use: "stdio", Short: "Serve all tools to an agent over stdin and stdout", Args: noArgs,
		Long: `Serve all tools over standard input and output, for an agent that starts usher itself. Its
entry there is {"command": "usher", "args": ["stdio"]}. It ends with its input.`,
		RunE: a.run(a.serveStdio),
	}
}

func (a *app) serveStdio(ctx context.Context, _ []string) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	a.notes(c.Problems)
	if a.in != nil && a.err.tty && isTerminal(a.in) {
		fmt.Fprintln(a.err, "usher stdio speaks MCP on standard input; an agent starts it. To try it by hand, use: "+line(a.command())+" call")
	}
	return a.withHost(ctx, opening{stays: true}, func(ctx context.Context, h *standard.Host) error {
		g := gateway.New(h.Host, gateway.Options{})
		defer g.Close()
		err := g.ServeStdio(ctx, a.in, os.Stdout)
		if errors.Is(err, context.Canceled) {
			return nil // told to stop
		}
		return err
	})
}
