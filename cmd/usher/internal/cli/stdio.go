package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/gateway"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) stdio() *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use: "stdio", Short: "Serve tools to an agent over stdin and stdout", Args: noArgs,
		Long: `Serve tools over standard input and output, for an agent that starts usher itself. Its
entry there is {"command": "usher", "args": ["stdio"]}. It ends with its input.

With --only it serves the tools of the servers that are named, so that an agent can have an
entry for each; "local" stands for the built-in tools. A single server's tools have their own
names then, since the agent puts the entry's name before them.`,
		Example: "  usher stdio\n  usher stdio --only fs --only jira",
		RunE:    a.run(func(ctx context.Context, _ []string) error { return a.serveStdio(ctx, only) }),
	}
	cmd.Flags().StringArrayVar(&only, "only", nil, "serve this `server` alone; may be given again")
	_ = cmd.RegisterFlagCompletionFunc("only", a.completeServer)
	return cmd
}

// onlyThese opens a part of the configured servers. Nil: all, and what is built in.
func (a *app) onlyThese(c *config.Config, names []string, o opening) (opening, error) {
	if len(names) == 0 {
		return o, nil
	}
	for _, name := range names {
		if name == usher.LocalTools {
			continue
		}
		if err := usable(c, name); err != nil {
			return o, err
		}
	}
	o.only = func(server string) bool { return slices.Contains(names, server) }
	o.withoutLocal = !slices.Contains(names, usher.LocalTools)
	return o, nil
}

func (a *app) serveStdio(ctx context.Context, only []string) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	o, err := a.onlyThese(c, only, opening{stays: true})
	if err != nil {
		return err
	}
	if err := notBehindItself(c, o.only); err != nil {
		return err
	}
	one := ""
	if len(only) == 1 {
		one = only[0]
	}
	a.notes(c.Problems)
	a.tellIdle(c)
	if a.in != nil && a.err.tty && isTerminal(a.in) {
		fmt.Fprintln(a.err, "usher stdio speaks MCP on standard input; an agent starts it. To try it by hand, use: "+line(a.command())+" call")
	}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if err := noteStarter(ctx, a.in, h, (&progress{to: a.err}).note); err != nil {
			return err
		}
		g := gateway.New(h.Host, gateway.Options{Principal: whoami(), Server: one})
		defer g.Close()
		err := g.ServeStdio(ctx, a.in, os.Stdout)
		if errors.Is(err, context.Canceled) {
			return nil // told to stop
		}
		return err
	})
}
