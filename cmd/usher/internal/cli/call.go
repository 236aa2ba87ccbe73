package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) call() *cobra.Command {
	var (
		raw     string
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "call NAME [key=value]… | --args JSON",
		Short: "Call one tool",
		Long: `Call one tool by its full name, and print what it answers. Values are typed by the
tool's schema; key:=JSON gives a value as JSON. --args gives all arguments at once: JSON,
@file, or - for standard input.

Where a call needs a person's word it asks in the terminal; elsewhere it says which
command would allow it.`,
		Example: `  usher call read_file path=README.md limit=10
  usher call mcp.fs.list_directory path=/tmp
  usher call mcp.jira.search --args '{"query":"open","limit":5}'
  usher call mcp.jira.create --args @issue.json --json`,
		Args: needName,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			in, err := a.readInput(args[1:], raw, cmd.Flags().Changed("args"))
			if err != nil {
				return err
			}
			return a.callTool(cmd.Context(), args[0], in, timeout)
		},
	}
	cmd.Flags().StringVar(&raw, "args", "", "all arguments: `JSON`, @file, or - for standard input")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long the call may take (default 30s, or what the server's entry says)")
	a.jsonFlag(cmd, "print the whole result as the server sent it")
	return cmd
}

func needName(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("call needs the name of a tool", "To see all tools, run: usher tools")
	}
	return nil
}

func (a *app) callTool(ctx context.Context, name string, in input, timeout time.Duration) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	server, local := serverOf(c, name)
	if server != "" {
		if err := usable(c, server); err != nil {
			return err
		}
	}
	p := &progress{to: a.err}
	o := opening{asker: a.asker(p), only: func(s string) bool { return !local && (server == "" || s == server) }}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if err := a.ready(ctx, h.Host); err != nil {
			return err
		}
		if err := down(h.Servers(), server, name); err != nil {
			return err
		}
		r, err := a.perform(ctx, h, p, call{name, in, timeout})
		if ctx.Err() != nil && fault.KindOf(err) == fault.ApprovalRequired {
			return ctx.Err() // the question was interrupted
		}
		if err != nil {
			a.afterRefusal(c, err)
			return err
		}
		return a.showResult(r)
	})
}

// call is what is to be called.
type call struct {
	name    string
	in      input
	timeout time.Duration
}

func (a *app) perform(ctx context.Context, h *standard.Host, p *progress, c call) (*usher.Result, error) {
	s, err := h.Session(usher.SessionOptions{Kind: "agent", Client: "usher call", CallTimeout: c.timeout})
	if err != nil {
		return nil, err
	}
	defer s.Close("closed")
	args, err := c.in.arguments(schemaOf(s.Tools(), c.name))
	if err != nil {
		return nil, err
	}
	var r *usher.Result
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = s.Call(ctx, c.name, args)
	}()
	p.while(done, func() string { return "calling " + line(c.name) + " …" })
	return r, err
}

// down returns why the one server that is needed didn't come up; nothing starts it a second time then.
func down(servers []usher.ServerStatus, server, tool string) error {
	for _, s := range servers {
		if s.Name == server && s.State == "down" && s.Err != nil {
			e := *fault.Of(s.Err)
			e.Server, e.Tool = server, tool
			return &e
		}
	}
	return nil
}

// afterRefusal shows what of the configuration was left out, where that may be why.
func (a *app) afterRefusal(c *config.Config, err error) {
	switch fault.KindOf(err) {
	case fault.ApprovalRequired, fault.PermissionDenied, fault.NotFound:
		if _, ok := errors.AsType[*fault.Error](err); ok {
			a.notes(c.Problems)
		}
	}
}

// schemaOf returns the schema of the tool's arguments; nil if the name doesn't tell one tool.
func schemaOf(tools []usher.Tool, name string) json.RawMessage {
	for _, t := range tools {
		if t.Name == name || t.Model == name || t.Server == "" && "local."+name == t.Name {
			return inputSchema(t.Definition)
		}
	}
	return nil
}
