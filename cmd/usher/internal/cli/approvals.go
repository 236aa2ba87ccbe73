package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/admin"
)

func (a *app) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "Show the calls that wait for your word, and answer",
		Long: `Show the questions that wait for a person's answer, from any usher on this data folder. A
call that got none in time has failed by then; once it is allowed, the identical call passes,
once. A question that nobody answers in time is a no.

Usher takes no answer from a program that it started, nor from one that one of its clients
started: answer in a terminal of your own. Against a program that can run anything as you
that is a hurdle and no wall.`,
		Example: "  usher approvals\n  usher approvals show q_4XK2\n  usher approvals allow q_4XK2\n  usher approvals watch",
		Args:    noArgs,
		RunE:    a.run(func(ctx context.Context, _ []string) error { return a.listApprovals(ctx) }),
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.showApproval(), a.allowApproval(), a.denyApproval(), a.watchApprovals())
	for _, c := range append(cmd.Commands(), cmd) {
		if c.Name() != "watch" {
			a.jsonFlag(c, "print one JSON object")
		}
	}
	return cmd
}

func (a *app) listApprovals(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	q, err := a.questions(ctx)
	if err != nil {
		return err
	}
	defer q.close()
	all, err := q.list(ctx)
	if err != nil {
		return apiFailure(err)
	}
	if a.json {
		return writeJSON(a.out, admin.Approvals{Approvals: append([]admin.Approval{}, all...)})
	}
	if len(all) == 0 {
		fmt.Fprintln(a.err, "no call waits for your word")
		return nil
	}
	a.approvalTable(all, time.Now())
	fmt.Fprintf(a.err, "To see all of one, and answer: %s approvals show %s\n", line(a.command()), shortest(all, all[0].ID))
	return nil
}

func (a *app) approvalTable(all []admin.Approval, now time.Time) {
	t := &table{head: []string{"ID", "LEFT", "RISK", "FROM", "TOOL"}}
	for _, one := range all {
		q := one.Question()
		from := cut(questionScreen{Question: q}.asker(), maxFrom)
		t.add(cell{line(shortest(all, one.ID)), bold}, cell{roughly(one.Expires.Sub(now)), ""}, cell{riskWord(q.Risk), riskStyle(riskWord(q.Risk))},
			cell{from, ""}, cell{line(one.Tool), ""})
	}
	t.print(a.out)
}

// maxFrom is the columns for who asks.
const maxFrom = 20
