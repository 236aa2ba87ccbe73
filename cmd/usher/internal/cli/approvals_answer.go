package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/permission"
)

func (a *app) allowApproval() *cobra.Command {
	var session, always bool
	cmd := a.forQuestion(&cobra.Command{
		Use: "allow ID", Short: "Let a call run",
		Long: `Let the call that a question is about run: this one alone, all of this tool in that session,
or for good while the tool and its server stay as they are. A destructive call is allowed for
itself alone. A yes to a call that asks only since it could carry private data out is for what
it names: data of those sources may go to that tool while the session lasts.

A call that waited too long has failed meanwhile; a yes takes hold when it is made again.

Look at it first: usher approvals show ID`,
		Example: "  usher approvals allow q_4XK2\n  usher approvals allow q_4XK2 --always",
	}, func(ctx context.Context, q questions, one admin.Approval) error {
		scope := permission.Once
		switch {
		case session && always:
			return usage("give --session or --always, not both", "A yes for good holds for the session, too")
		case session:
			scope = permission.Session
		case always:
			scope = permission.Always
		}
		return a.decide(ctx, q, one, true, scope)
	})
	cmd.Flags().BoolVar(&session, "session", false, "also what the same session calls of this tool later")
	cmd.Flags().BoolVar(&always, "always", false, "also all later calls of this tool, while its definition stays")
	return cmd
}

func (a *app) denyApproval() *cobra.Command {
	return a.forQuestion(&cobra.Command{
		Use: "deny ID", Short: "Refuse a call",
		Long:    "Refuse the call that a question is about. The identical call of that session is refused as well, until the\nquestion would have ended.",
		Example: "  usher approvals deny q_4XK2",
	}, func(ctx context.Context, q questions, one admin.Approval) error {
		return a.decide(ctx, q, one, false, permission.Once)
	})
}

// forQuestion makes a command that is about one question.
func (a *app) forQuestion(cmd *cobra.Command, do func(context.Context, questions, admin.Approval) error) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(cmd.CommandPath()+" needs the id of a question", "To see those that wait, run: "+self+" approvals")
		case len(args) > 1:
			return usage(cmd.CommandPath()+" is about one question at a time", "Each one is to be looked at: "+self+" approvals watch")
		}
		return nil
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.openQuestions(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = a.run(func(ctx context.Context, args []string) error {
		ctx, stop := interruptible(ctx)
		defer stop()
		q, err := a.questions(ctx)
		if err != nil {
			return err
		}
		defer q.close()
		one, err := a.find(ctx, q, args[0])
		if err != nil {
			return err
		}
		return do(ctx, q, one)
	})
	return cmd
}

func (a *app) openQuestions(ctx context.Context) (ids []string) {
	q, err := a.questions(ctx)
	if err != nil {
		return nil
	}
	defer q.close()
	all, err := q.list(ctx)
	if err != nil {
		return nil
	}
	for _, one := range all {
		ids = append(ids, one.ID+"\t"+line(one.Tool))
	}
	return ids
}

// decided is what became of a question, for programs.
type decided struct {
	ID    string `json:"id"`
	Tool  string `json:"tool"`
	Allow bool   `json:"allow"`
	Scope string `json:"scope"`
}

func (a *app) decide(ctx context.Context, q questions, one admin.Approval, allow bool, scope permission.Scope) error {
	if err := q.decide(ctx, one.ID, allow, scope); err != nil {
		return notDecided(err)
	}
	if a.json {
		return writeJSON(a.out, decided{one.ID, one.Tool, allow, scope.String()})
	}
	fmt.Fprintln(a.out, a.decidedText(a.out, one, allow, scope))
	if allow {
		text := "  If the call has waited too long and failed, the same call passes once when it is made again"
		if scope != permission.Once {
			text += ",\n  and from then on the others do, too"
		}
		fmt.Fprintln(a.err, text)
	}
	return nil
}

// decidedText is one line about what was decided.
func (a *app) decidedText(to *terminal, one admin.Approval, allow bool, scope permission.Scope) string {
	tool := to.paint(bold, line(one.Tool))
	if !allow {
		return to.paint(red, "denied") + "  " + tool
	}
	if one.FlowOnly {
		return to.paint(green, "allowed") + " " + tool + ": what the question names may go there while the session lasts"
	}
	return to.paint(green, "allowed") + " " + tool + [...]string{", this one call", ", in this session", ", for good while it stays as it is"}[scope]
}

// notDecided sorts why an answer didn't count.
func notDecided(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return apiFailure(err)
	case e.Kind == fault.PermissionDenied:
		return &failure{fault.ExitDenied, e.Detail, e.Hint}
	case e.Kind == fault.InvalidParams && e.Hint == "":
		return usage(e.Detail, "To see those that wait, run: "+self+" approvals")
	}
	return apiFailure(err)
}
