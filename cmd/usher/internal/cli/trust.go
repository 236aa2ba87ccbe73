package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// trusting is what the command line of usher trust says.
type trusting struct {
	names            []string
	all, yes, revoke bool
}

func (a *app) trustCommand() *cobra.Command {
	var t trusting
	cmd := &cobra.Command{
		Use: "trust [NAME…]", Short: "Let servers run that a folder's own files bring",
		Long: `A folder may bring servers of its own, in .mcp.json or mcp.config.json. Somebody else may have
written that file, and a server is a program that runs as you: none of them is started before
you trust it.

Without a NAME it lists the servers that wait, and those that you trust. With one it shows all
that would run, and asks. What you trust is this entry in this folder, as it was shown: once it
changes, it waits again. Files that it runs are not part of the entry: usher says where it sees
that there are some.

--revoke takes trust back; a server that runs is ended then. Usher takes no trust from a program
that it, or one of its clients, started.`,
		Example: "  usher trust\n  usher trust jira\n  usher trust --all --yes\n  usher trust --revoke jira",
		RunE: a.run(func(ctx context.Context, names []string) error {
			slices.Sort(names)
			t.names = slices.Compact(names)
			return a.trust(ctx, t)
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.trustable(t.revoke, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.BoolVar(&t.all, "all", false, "all servers of this folder that wait; with --revoke, all that are trusted")
	f.BoolVar(&t.yes, "yes", false, "don't ask")
	f.BoolVar(&t.revoke, "revoke", false, "take trust back")
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func (a *app) trustable(revoke bool, but []string) (names []string) {
	c, err := a.load()
	if err != nil {
		return nil
	}
	all := c.Pending
	if revoke {
		all = slices.DeleteFunc(slices.Clone(c.Servers), func(s config.Server) bool { return s.Source != config.SourceProject })
	}
	for _, s := range all {
		if !slices.Contains(but, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (a *app) trust(ctx context.Context, t trusting) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	switch {
	case t.all && len(t.names) > 0:
		return usage("give names or --all, not both", "See: "+self+" trust --help")
	case t.revoke && !t.all && len(t.names) == 0:
		return usage("--revoke needs the name of a server, or --all", "To see what is trusted, run: "+self+" trust")
	case t.yes && !t.all && len(t.names) == 0:
		return usage("--yes needs the name of a server, or --all", "To see what waits, run: "+self+" trust")
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	switch {
	case t.revoke:
		return a.revoke(ctx, c, t)
	case !t.all && len(t.names) == 0:
		return a.listTrust(ctx, c)
	}
	return a.trustThese(ctx, c, t)
}

// trustThese shows, asks and writes. Nothing of an entry is expanded or started before.
func (a *app) trustThese(ctx context.Context, c *config.Config, t trusting) error {
	entries, err := a.chosenEntries(c, t)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		if a.json {
			return writeJSON(a.out, trustedJSON{Folder: c.Folder, Trusted: []trustEntry{}})
		}
		fmt.Fprintln(a.out, "nothing waits for your trust")
		return nil
	}
	shown := viewsOf(c, entries)
	for i, e := range shown {
		if i > 0 && !a.json {
			fmt.Fprintln(a.err)
		}
		a.showEntry(e)
	}
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	if !t.yes {
		if a.json || !a.err.tty || !isTerminal(a.in) {
			if a.json {
				if err := writeJSON(a.out, trustedJSON{c.Folder, []trustEntry{}, shown}); err != nil {
					return err
				}
			}
			return &failure{fault.ExitDenied, "nobody can be asked here, so nothing was trusted", "To trust what was shown, add --yes"}
		}
		yes, err := a.trustAsked(ctx, len(shown))
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if !yes {
			fmt.Fprintln(a.err, "nothing was trusted, and nothing was started")
			return err
		}
	}
	return a.keepTrust(ctx, c, entries, shown)
}

func (a *app) trustAsked(ctx context.Context, n int) (bool, error) {
	what := "Trust it"
	if n > 1 {
		what = fmt.Sprintf("Trust these %d", n)
	}
	fmt.Fprintf(a.err, "\nWhat runs here runs as you, and may do what you may.\n")
	return a.agreedTo(ctx, what)
}

// chosenEntries are those that are named. One that runs already is told of.
func (a *app) chosenEntries(c *config.Config, t trusting) (entries []config.Server, err error) {
	if t.all {
		return c.Pending, nil
	}
	for _, name := range t.names {
		found := named(c.Pending, name)
		if len(found) == 0 {
			if err := a.notPending(c, name); err != nil {
				return nil, err
			}
		}
		entries = append(entries, found...)
	}
	return entries, nil
}

func named(all []config.Server, name string) []config.Server {
	return slices.DeleteFunc(slices.Clone(all), func(s config.Server) bool { return s.Name != name })
}

// notPending says why a server doesn't wait for trust; nil: it has it.
func (a *app) notPending(c *config.Config, name string) error {
	if all := named(c.Servers, name); len(all) > 0 {
		s := all[0]
		if s.Source == config.SourceProject {
			fmt.Fprintf(a.err, "%s is trusted already (%s:%d)\n", line(name), line(homely(s.File)), s.Line)
			return nil
		}
		return usage(fmt.Sprintf("server %s needs no trust: it is %s", name, whose(s)), "Only what a folder brings waits for trust")
	}
	if b := blocked(c, name); b != nil {
		return refusedBy(b)
	}
	if p := leftOut(c, name); p != nil {
		return p
	}
	var names []string
	for _, s := range c.Pending {
		names = append(names, s.Name)
	}
	text := fmt.Sprintf("no server called %q waits for your trust", line(name))
	if c.Folder == "" {
		return usage(text+"; this folder brings none", "A folder's servers are in its .mcp.json or mcp.config.json; for another folder, add --dir")
	}
	return usage(text+didYouMean(near.Name(name, names)), "To see those that wait, run: "+self+" trust")
}
