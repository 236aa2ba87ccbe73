package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
)

func (a *app) restartServers() *cobra.Command {
	return a.forServers(&cobra.Command{
		Use: "restart NAME…", Short: "End servers and start them anew",
		Long: `End servers of the running usher and start them anew, and wait until they are up. Calls
that they are busy with fail. The exit code is 5 where one doesn't come up.`,
		Example: "  usher servers restart jira",
	}, func(s admin.Server) bool { return !s.Disabled }, a.restart)
}

func (a *app) restart(ctx context.Context, o *overview, names []string) error {
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	if !o.Running {
		return &failure{fault.ExitUnavailable, "usher isn't running, so there is nothing to restart", "To start it, run: " + self + " serve"}
	}
	for _, name := range names {
		if s, _ := o.server(name); s.Disabled {
			return &failure{fault.ExitUnavailable, "server " + name + " is disabled", "To use it, run: " + self + " servers enable " + shellWord(name)}
		}
	}
	failures := map[string]error{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range names {
			if err := o.client.Restart(ctx, name); err != nil {
				failures[name] = err
			}
		}
	}()
	p := &progress{to: a.err}
	p.while(done, func() string { return "restarting " + line(strings.Join(names, ", ")) + " …" })
	for _, err := range failures {
		if _, ok := errors.AsType[*fault.Error](err); !ok { // it concerns all of them
			return apiFailure(err)
		}
	}
	if err := o.refresh(ctx); err != nil {
		return err
	}
	return a.tellRestarted(o, names, failures)
}

func (a *app) switchServers(verb string, disabled bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " NAME…", Short: "Use servers again that were disabled",
		Long:    `Write "disabled": false into the entries of servers, and start them where usher runs.`,
		Example: "  usher servers enable jira",
	}
	if disabled {
		cmd.Short = "Keep servers in the configuration, and don't use them"
		cmd.Long = `Write "disabled": true into the entries of servers, and end them where usher runs.`
		cmd.Example = "  usher servers disable jira"
	}
	return a.forServers(cmd, func(s admin.Server) bool { return s.Disabled != disabled }, func(ctx context.Context, o *overview, names []string) error {
		return a.editOwn(ctx, o, names, verb+"d", func(e editor, name string) (bool, error) {
			if s, ok := o.server(name); ok && s.Disabled == disabled && !foreignTo(s.Source) {
				return false, nil
			}
			return true, e.SetDisabled(ctx, name, disabled)
		})
	})
}

func (a *app) removeServers() *cobra.Command {
	return a.forServers(&cobra.Command{
		Use: "remove NAME…", Short: "Remove servers from the configuration",
		Long:    `Remove the entries of servers from the configuration, and end them where usher runs.`,
		Example: "  usher servers remove jira",
	}, func(admin.Server) bool { return true }, func(ctx context.Context, o *overview, names []string) error {
		return a.editOwn(ctx, o, names, "removed", func(e editor, name string) (bool, error) { return true, e.RemoveServer(ctx, name) })
	})
}

// forServers makes a command that does something to servers that are configured; it is done to none where one of them
// isn't. fits says which ones completion offers.
func (a *app) forServers(cmd *cobra.Command, fits func(admin.Server) bool, do func(context.Context, *overview, []string) error) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd.CommandPath()+" needs the name of a server", "To see all of them, run: "+self+" servers")
		}
		return nil
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.configuredServers(args, fits), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = a.run(func(ctx context.Context, names []string) error {
		ctx, stop := interruptible(ctx)
		defer stop()
		o, err := a.lookAtServers(ctx)
		if err != nil {
			return err
		}
		defer o.close()
		if err := a.elsewhere(o); err != nil {
			return err
		}
		if _, managed := errors.AsType[*config.ManagedError](o.broken); managed {
			return o.broken // of no server there is more to say
		}
		for _, name := range names {
			if err := o.idleServer(name); err != nil {
				return err
			}
			if _, ok := o.server(name); !ok && o.leftOut(name) == nil && !o.blockedHere(name) {
				return o.unknown(name)
			}
		}
		return do(ctx, o, slices.Compact(slices.Sorted(slices.Values(names))))
	})
	return cmd
}

func (a *app) configuredServers(but []string, fits func(admin.Server) bool) (names []string) {
	c, err := a.load()
	if err != nil {
		return nil
	}
	for _, s := range admin.Configured(c) {
		if fits(s) && !slices.Contains(but, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// editOwn is edit for entries that have to be in the user's own file.
func (a *app) editOwn(ctx context.Context, o *overview, names []string, did string, change func(e editor, name string) (bool, error)) error {
	for _, name := range names {
		if err := o.notOurs(name); err != nil {
			return err
		}
	}
	return a.edit(ctx, o, names, did, change)
}

// edit changes the entries of servers and tells of each. change reports whether there was anything to change.
func (a *app) edit(ctx context.Context, o *overview, names []string, did string, change func(e editor, name string) (bool, error)) error {
	if err := a.mayDecide(ctx); err != nil { // a server is a program
		return err
	}
	e, changed := a.editorFor(o), map[string]bool{}
	for _, name := range names {
		var err error
		if changed[name], err = change(e, name); err != nil {
			return apiFailure(err)
		}
	}
	if err := a.settle(ctx, o, names); err != nil {
		return err
	}
	if a.json {
		return a.tellJSON(o, names)
	}
	for _, name := range names {
		text := did
		if !changed[name] {
			text += " already"
		}
		a.tellEdited(o, name, text)
	}
	a.tellFile(o)
	return nil
}

func (a *app) editorFor(o *overview) editor {
	if o.Running {
		return o.client
	}
	return offline{a.path()}
}
