package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/internal/admin"
)

func (a *app) showApproval() *cobra.Command {
	return a.forQuestion(&cobra.Command{
		Use: "show ID", Short: "Show all of what a call would do",
		Long: `Show a question with all bytes of the call's arguments; what could hide or act on the
terminal is shown as an escape. Where the tool ran before, it also says what is different
this time. --json has the arguments as the client sent them, in base64 ("args").`,
		Example: "  usher approvals show q_4XK2",
	}, a.showOne)
}

// shown is a question for programs.
type shown struct {
	admin.Approval
	Earlier *earlier `json:"earlier,omitempty"`
}

func (a *app) showOne(ctx context.Context, _ questions, one admin.Approval) error {
	before := a.earlier(ctx, one)
	if a.json {
		return writeJSON(a.out, shown{one, before})
	}
	s := questionScreen{Question: one.Question(), now: time.Now(), full: true}
	if one.State != "waiting" && len(one.Args) == 0 && one.Bytes > 0 {
		s.Args = json.RawMessage(fmt.Sprintf("(%s, which aren't kept any more)", size(int(one.Bytes))))
	} else {
		s.more = before.text(a.out, one.Args)
	}
	if _, err := fmt.Fprint(a.out, a.out.show(s)); err != nil {
		return err
	}
	a.tellHow(one)
	return nil
}

// tellHow says how to answer, or what the answer was.
func (a *app) tellHow(one admin.Approval) {
	if one.State != "waiting" {
		fmt.Fprintf(a.err, "\n%s\n", outcome(one))
		return
	}
	fmt.Fprintf(a.err, "\nTo answer, run one of these:\n")
	say := func(verb string) { fmt.Fprintf(a.err, "  %s approvals %s\n", line(a.command()), verb) }
	say("allow " + one.ID)
	if slices.Contains(one.Scopes, "session") {
		say("allow " + one.ID + " --session")
	}
	if slices.Contains(one.Scopes, "always") {
		say("allow " + one.ID + " --always")
	}
	say("deny " + one.ID)
}

// outcome is how a question has ended.
func outcome(one admin.Approval) string {
	by := ""
	if one.AnsweredBy != "" {
		by = " by " + line(one.AnsweredBy)
	}
	at := ""
	if !one.Answered.IsZero() {
		at = " at " + one.Answered.Local().Format(time.TimeOnly)
	}
	switch one.State {
	case "allowed":
		return "It was allowed" + by + at + "; the same call passes once, and hasn't come yet"
	case "used":
		return "It was allowed" + by + at + ", and the call has passed"
	case "denied":
		return "It was denied" + by + at
	case "expired":
		return "Nobody answered in time, which is a no"
	}
	return strings.TrimSpace("It is " + line(one.State))
}
