package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) tools() *cobra.Command {
	var server string
	var all bool
	cmd := &cobra.Command{
		Use: "tools [TOOL | SERVER]", Short: "List all tools, their risk and whether a call asks", Args: cobra.MaximumNArgs(1),
		Long: `List the tools of all servers and the built-in ones: their name, their risk, and what
happens with a call: allow (it runs) or ask (a person is asked first). Denied tools are hidden
from agents and left out here without --all.

With a TOOL it shows that one: what it does, its arguments, and an example call. With a
SERVER it lists the tools of that server, as --server does.`,
		Example: "  usher tools\n  usher tools fs\n  usher tools mcp.fs.read_text_file\n  usher tools --server fs --json",
		RunE: a.run(func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return a.listTools(ctx, server, all)
			}
			if server != "" {
				return usage("give a name or --server, not both", "A tool's full name has its server in it")
			}
			return a.aboutName(ctx, args[0], all)
		}),
		ValidArgsFunction: a.completeToolOrServer,
	}
	cmd.Flags().StringVar(&server, "server", "", "only the tools of this `NAME`")
	_ = cmd.RegisterFlagCompletionFunc("server", a.completeServer)
	cmd.Flags().BoolVar(&all, "all", false, "also the tools that a rule denies")
	a.jsonFlag(cmd, "print a JSON array")
	return cmd
}

func (a *app) listTools(ctx context.Context, server string, all bool) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	o := opening{}
	if server != "" {
		if err := usable(c, server); err != nil {
			return err
		}
		o.only = func(name string) bool { return name == server }
	}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if err := a.ready(ctx, h.Host); err != nil {
			return err
		}
		s, err := h.Session(usher.SessionOptions{Kind: "agent", Client: "usher tools"})
		if err != nil {
			return err
		}
		defer s.Close("closed")
		tools := s.Tools
		if all {
			tools = s.AllTools
		}
		return a.showTools(c, h, tools(), server)
	})
}

// allTools lists the tools of what is up now, those that a rule denies too.
func allTools(h *standard.Host, client string) ([]usher.Tool, error) {
	s, err := h.Session(usher.SessionOptions{Kind: "agent", Client: client})
	if err != nil {
		return nil, err
	}
	defer s.Close("closed")
	return s.AllTools(), nil
}

// usable finds out why a server that a person names can't be started: nobody configured it, or its entry is off.
func usable(c *config.Config, server string) error {
	for _, s := range c.Servers {
		switch {
		case s.Name != server:
		case s.Disabled:
			return &failure{fault.ExitUnavailable, fmt.Sprintf("server %s is disabled (%s:%d)", server, s.File, s.Line),
				"To use it, run: " + self + " servers enable " + shellWord(server)}
		default:
			return nil
		}
	}
	if err := awaitsTrust(c, server); err != nil {
		return err
	}
	if b := blocked(c, server); b != nil {
		return refusedBy(b)
	}
	if p := leftOut(c, server); p != nil {
		return p
	}
	return noServer(server, append(serverNames(c), idle(c)...), c.Path)
}

const mostListed = 20 // names in a hint

func someNames(names []string) string {
	text := strings.Join(names[:min(len(names), mostListed)], ", ")
	if more := len(names) - mostListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// leftOut is the first problem that cost the entry of a server.
func leftOut(c *config.Config, server string) *config.Problem {
	for _, s := range c.Servers {
		if s.Name == server {
			return nil
		}
	}
	for i, p := range c.Problems {
		if fieldServer(p.Field) == server {
			return &c.Problems[i]
		}
	}
	return nil
}

func serverNames(c *config.Config) []string {
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	return names
}

// toolJSON is a tool as --json shows it.
type toolJSON struct {
	Name        string          `json:"name"`
	Model       string          `json:"model"`  // its name toward models
	Server      string          `json:"server"` // empty: built in
	Risk        string          `json:"risk"`
	Effect      string          `json:"effect"`
	Description string          `json:"description"`
	Hash        string          `json:"hash"`
	Definition  json.RawMessage `json:"definition"`
}

func jsonOf(t usher.Tool) toolJSON {
	return toolJSON{t.Name, t.Model, t.Server, t.Risk.String(), t.Effect.String(), t.Description, t.Hash, t.Definition}
}

func (a *app) showTools(c *config.Config, h *standard.Host, tools []usher.Tool, server string) error {
	rows := []toolJSON{}
	for _, t := range tools {
		if server == "" || t.Server == server {
			rows = append(rows, jsonOf(t))
		}
	}
	a.mistakes(h.Problems, func(p config.Problem) bool { return ofPermissions(p) || server != "" && fieldServer(p.Field) == server })
	failed := a.showFailed(c, h.Servers())
	if server == "" {
		a.tellIdle(c)
	}
	if a.json {
		if err := writeJSON(a.out, rows); err != nil {
			return err
		}
	} else if len(rows) > 0 {
		t := table{head: []string{"TOOL", "RISK", "CALL", "DESCRIPTION"}}
		for _, r := range rows {
			t.add(cell{line(r.Name), bold}, cell{r.Risk, riskStyle(r.Risk)}, cell{r.Effect, effectStyle(r.Effect)}, cell{firstLine(r.Description), ""})
		}
		t.print(a.out)
	}
	switch {
	case failed && server != "":
		return exit(fault.ExitUnavailable)
	case !exists(h.ConfigPath) && len(c.Servers) == 0 && len(c.Pending) == 0:
		fmt.Fprintf(a.err, "no servers: there is no %s\n  To write one, see: usher help config\n", line(h.ConfigPath))
	}
	return nil
}

// showFailed names the servers that didn't come up, and reports whether there were any.
func (a *app) showFailed(c *config.Config, servers []usher.ServerStatus) bool {
	failed := false
	for _, s := range servers {
		if !s.Fails() {
			continue
		}
		failed = true
		name := line(s.Name)
		reason := wrap(cut(line(inWords(entryOf(c, s.Name), s.Err, why(s.Err))), maxReason), width(name)+2, 2, a.err.width())
		fmt.Fprintf(a.err, "%s %s\n  To see why, run: %s doctor %s\n", a.err.paint(red, name+":"), reason, line(a.command()), line(shellWord(s.Name)))
	}
	return failed
}

// maxReason is how much of a reason a list shows; doctor shows all.
const maxReason = 120

// why is the reason alone; the server is named beside it.
func why(err error) string {
	if err == nil {
		return "it ended"
	}
	f := fault.Of(err)
	switch {
	case f.Detail == "" && f.Cause != nil:
		return f.Cause.Error()
	case f.Detail == "":
		return string(f.Kind)
	case f.Hint != "":
		return f.Detail + ". " + f.Hint
	}
	return f.Detail
}
