package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/builtin"
	"github.com/usher-mcp/usher/mcp"
)

// Completion reads the configuration and starts nothing: a Tab must not run programs.

func (a *app) completeServer(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.servers(), cobra.ShellCompDirectiveNoFileComp
}

// completeOneServer is for a command that takes one server.
func (a *app) completeOneServer(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeServer(cmd, args, typed)
}

func (a *app) servers() []string {
	c, err := a.load()
	if err != nil {
		return nil
	}
	return serverNames(c)
}

func completeRisks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"read", "write", "network", "execute", "destructive"}, cobra.ShellCompDirectiveNoFileComp
}

func completeTypes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return eventTypes(), cobra.ShellCompDirectiveNoFileComp
}

// completeTool offers the built-in tools, and of the servers' the beginning of the name.
func (a *app) completeTool(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.toolNames(typed, nil)
}

// completeToolOrServer offers the servers, too.
func (a *app) completeToolOrServer(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.toolNames(typed, a.servers())
}

// completePattern offers all tools of a server, too.
func (a *app) completePattern(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, s := range a.servers() {
		all = append(all, "mcp."+s+".*")
	}
	return a.toolNames(typed, all)
}

func (a *app) toolNames(typed string, more []string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var names []string
	offer := func(name string) {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	for _, name := range a.builtinNames() {
		offer(name)
		offer("local." + name)
	}
	for _, name := range more {
		offer(name)
	}
	for _, s := range a.servers() {
		before := len(names)
		if offer("mcp." + s + "."); len(names) > before {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	return names, directive
}

func (a *app) builtinNames() (names []string) {
	dir := a.dir
	if dir == "" {
		dir = "."
	}
	h, closer, err := builtin.Files(dir)
	if err != nil {
		return nil
	}
	defer closer.Close()
	answer, err := h.Handle(context.Background(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
	if err != nil {
		return nil
	}
	for t := range mcp.Elements(mcp.Member(answer.Result, "tools")) {
		names = append(names, mcp.Text(mcp.Member(t, "name")))
	}
	return names
}
