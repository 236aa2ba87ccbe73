package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/event/index"
)

const (
	someEvents = 100 // how many the table shows unless told otherwise
	fewEvents  = 10  // how many are shown before those that come
)

func (a *app) events() *cobra.Command {
	var q index.Query
	var since, until string
	var follow bool
	cmd := &cobra.Command{
		Use: "events", Short: "Show what happened, or verify the log", Args: noArgs,
		Long: `Show the event log, oldest first, whatever process wrote it. It may be read while usher runs. Of several flags
all must hold. --json prints the lines as they are stored.`,
		Example: `  usher events --server jira --since 2h
  usher events --tool mcp.fs.write_file --type tool.failed
  usher events --text 'connection refused' --since 2026-07-28
  usher events --follow
  usher events --session host --type 'mcp.server.*'
  usher events verify`,
		RunE: a.run(func(ctx context.Context, _ []string) (err error) {
			if err = knownType(q.Type); err == nil {
				q.Since, q.Until, err = timeRange(since, until, time.Now())
			}
			if err == nil && follow && until != "" {
				err = usage("--follow shows what comes, and --until ends before it", "Leave out one of them")
			}
			if err != nil {
				return err
			}
			return a.showEvents(ctx, q, follow)
		}),
		PreRun: func(cmd *cobra.Command, _ []string) {
			switch {
			case cmd.Flags().Changed("limit"):
			case follow:
				q.Limit = fewEvents
			case !a.json:
				q.Limit = someEvents
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Session, "session", "", "only this session, by the beginning of its `ID`; host: usher itself and its servers")
	f.StringVar(&q.Type, "type", "", "only this `TYPE`, or a beginning and *, such as 'mcp.call.*'")
	f.StringVar(&q.Server, "server", "", "only what is about this server and its tools, by its `NAME`")
	f.StringVar(&q.Tool, "tool", "", "only calls of this tool, by its `NAME` in any spelling, or a beginning and *, such as 'mcp.fs.*'")
	f.StringVar(&q.Call, "call", "", "only the call with this `ID`, which --json shows as toolCallId")
	f.StringVar(&q.Text, "text", "", "only what contains this `TEXT`, whatever the case (or --grep)")
	f.StringVar(&q.Text, "grep", "", "as --text")
	f.StringVar(&since, "since", "", "only from this `TIME` on: how long ago (30m, 2h, 3d), 14:05, 2026-07-28, or RFC 3339")
	f.StringVar(&until, "until", "", "only before this `TIME`, or until the end of a day")
	f.IntVarP(&q.Limit, "limit", "n", 0, "only the last `N` (default 100 in the table, 10 with --follow, else all; 0: all)")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what comes, from any process, until Ctrl-C")
	_ = f.MarkHidden("grep")
	a.jsonFlag(cmd, "print the lines as they are stored")
	_ = cmd.RegisterFlagCompletionFunc("type", completeTypes)
	_ = cmd.RegisterFlagCompletionFunc("server", a.completeServer)
	_ = cmd.RegisterFlagCompletionFunc("tool", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.toolNames(typed, nil)
	})
	cmd.AddCommand(a.verify())
	return cmd
}
