package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/permission"
)

func (a *app) permissionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "permission", Short: "Explain decisions, try out rules, set the mode",
		Long: `Explain what would be decided about a call and why, try out rules on the calls in the log
before they count, and show or set the mode. To write rules, see: usher allow`,
		Example: `  usher permission explain mcp.jira.get_issue key=A-1
  usher permission replay new-rules.json --since 7d
  usher permission mode accept-reads`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.explainCommand(), a.replayCommand(), a.modeCommand())
	return cmd
}

func (a *app) explainCommand() *cobra.Command {
	var raw, session string
	cmd := &cobra.Command{
		Use: "explain TOOL [key=value]… | --args JSON", Short: "Say what would be decided about a call, and why",
		Long: `Say what would be decided about a call of a tool: which rule of which file decides, what
was looked at, the tool's risk and where that is from, and where its data could go. Nothing
is called or recorded. A server is started only where nothing is known of its tools yet.

It is for a call by usher call in this folder; --session takes another one out of the log:
who its client is and what it was allowed. Arguments are given as to usher call.`,
		Example: `  usher permission explain mcp.jira.get_issue key=A-1
  usher permission explain mcp.fs.write_file path=/etc/hosts content=x --mode plan
  usher permission explain mcp.jira.get_issue --session s_3f --json | jq -r .decision`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("explain needs the name of a tool", "To see all tools, run: "+self+" tools")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			in, err := a.readInput(args[1:], raw, cmd.Flags().Changed("args"))
			if err != nil {
				return err
			}
			return a.explainCall(cmd.Context(), explaining{name: args[0], in: in, session: session})
		},
		ValidArgsFunction: a.completeTool,
	}
	cmd.Flags().StringVar(&raw, "args", "", "all arguments: `JSON`, @file, or - for standard input")
	cmd.Flags().StringVar(&session, "session", "", "for this session of the log, by the beginning of its `ID`")
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func (a *app) modeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mode [MODE]", Short: "Show or set how to treat what no rule decides",
		Long: `Show the mode that counts in this folder and where it is written, or write it into your
configuration. A running usher takes it up within a second. Deny rules come first in each:

  default       reads run, all else asks
  accept-reads  as default, and what calls itself read-only runs, too
  plan          only reads run; all else is denied
  dont-ask      what would ask is denied, and so is what no rule lets run
  bypass        what no rule is about runs; ask rules still ask, and so
                does what is destructive`,
		Example: "  usher permission mode\n  usher permission mode plan",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return a.showMode()
			}
			return a.setMode(ctx, args[0])
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return modeNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func modeNames() (names []string) {
	for m := permission.Default; m <= permission.Bypass; m++ {
		names = append(names, m.String())
	}
	return names
}

// placeOf is where a rule or a grant stands.
func placeOf(file string, at int, source string) string {
	switch {
	case file == "":
		return source
	case source == "":
		return fmt.Sprintf("%s:%d", file, at)
	}
	return fmt.Sprintf("%s:%d (%s)", file, at, source)
}
