package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event/index"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) replayCommand() *cobra.Command {
	var q index.Query
	var since, until string
	cmd := &cobra.Command{
		Use: "replay NEW-RULES", Short: "Say what other rules would have decided about the calls in the log",
		Long: `Decide the calls in the log again, with the rules of a file in the place of your own, and say
what would have gone differently. The file is a configuration, or what stands under
permissions of one. What an administrator, a project or the command line says still counts,
and so does what you allowed for good. Nothing is called or changed.

The log doesn't have everything: arguments longer than 8 KiB are cut in it, secrets are taken
out, and of tools that are gone their hints aren't known. Where a rule looks at that, the
call is one of which it can't be told.

The exit code is 0 where all would have gone as it did, and 1 otherwise.`,
		Example: `  usher permission replay new-rules.json --since 7d
  usher permission replay new-rules.json --tool 'mcp.fs.*' --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return usage("replay takes one file of rules", "Such as: "+self+" permission replay new-rules.json")
		},
		RunE: a.run(func(ctx context.Context, args []string) (err error) {
			if q.Since, q.Until, err = timeRange(since, until, time.Now()); err != nil {
				return err
			}
			return a.replay(ctx, args[0], q)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&since, "since", "", "only calls from this `TIME` on: how long ago (30m, 2h, 3d), 14:05, 2026-07-28, or RFC 3339")
	f.StringVar(&until, "until", "", "only calls before this `TIME`, or until the end of a day")
	f.StringVar(&q.Tool, "tool", "", "only calls of this tool, by its `NAME` in any spelling, or a beginning and *, such as 'mcp.fs.*'")
	_ = cmd.RegisterFlagCompletionFunc("tool", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.toolNames(typed, nil)
	})
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func (a *app) replay(ctx context.Context, name string, q index.Query) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	rules, err := a.rulesOf(ctx, name)
	if err != nil {
		return err
	}
	r := newReplayer(c, rules, a.modeOf(rules))
	if r.known, err = a.knownTools(ctx); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	log, err := a.openLog(ctx, c)
	if err != nil {
		return err
	}
	out := replayed{Rules: name, Mode: r.policy.ModeOf(r.mode).String(), Calls: []replayedCall{}}
	if log != nil {
		defer log.Close()
		calls, err := readCalls(ctx, log, q)
		if err != nil {
			return readFailure(err)
		}
		for _, call := range calls {
			out.add(r.again(call))
		}
	}
	if err := a.showReplay(&out); err != nil {
		return err
	}
	if out.Different+out.CantTell > 0 {
		return exit(fault.ExitTool)
	}
	return nil
}

// rulesOf reads a file of rules. One that is broken would make everything ask, which nobody wants to know in numbers.
func (a *app) rulesOf(ctx context.Context, name string) (*config.Config, error) {
	data, err := readRules(name)
	if err != nil {
		return nil, usage("can't read the rules: "+err.Error(), "Name a configuration, or a file with what stands under permissions of one")
	}
	c, err := standard.LoadRules(ctx, a.whereabouts(), absolute(name), data)
	broken, ok := errors.AsType[*config.Problem](err)
	if err != nil && !ok {
		return nil, err
	}
	if broken == nil {
		broken = brokenPermissions(c)
	}
	if broken != nil {
		return nil, &failure{fault.ExitConfig, broken.Error(), "Repair it first: where a part of the rules can't be read, everything asks"}
	}
	for _, w := range brokenConditions(listedRules(c)) {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(w.Text()), len("note: ")))
	}
	return c, nil
}

// knownTools are those that there are now, by name, as far as that is known without starting anything.
func (a *app) knownTools(ctx context.Context) (map[permission.Target]knownTool, error) {
	known := map[permission.Target]knownTool{}
	err := a.withHost(ctx, opening{lazy: true}, func(_ context.Context, h *standard.Host) error {
		for _, k := range h.Known() {
			known[k.Call.Target] = k
		}
		return nil
	})
	return known, err
}
