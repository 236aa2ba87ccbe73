package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/connect"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// connection is what the command line of usher connect says.
type connection struct {
	client                string
	only                  []string
	file                  string
	one, project          bool
	undo, keep, yes, look bool
}

func (a *app) connectCommand() *cobra.Command {
	var n connection
	cmd := &cobra.Command{
		Use: "connect [CLIENT]", Short: "Put usher into the configuration of an agent, or take it out",
		Long: `Put usher into the configuration of an agent, such as claude or codex, so that its calls go
through usher. Each server gets an entry with the server's own name, so the names of tools,
and rules and habits with them, stay as they are there; --one makes one entry for all.

An entry of the agent's own for a server that usher serves would go past usher, so it is
moved: ours comes in its place, and --undo brings it back. All else in the file stays,
comments and layout too. What will change is shown first; the file before is kept.

Without CLIENT it shows which agents are on this machine. It starts nothing.`,
		Example: "  usher connect\n  usher connect claude\n  usher connect cursor --project --server jira\n  usher connect claude --undo",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("connect takes one client, and there are more", "Such as: "+self+" connect "+shellWord(args[0]))
			}
			return nil
		},
		RunE: a.run(func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return a.listClients(n)
			}
			n.client = args[0]
			return a.connectClient(ctx, n)
		}),
		ValidArgsFunction: completeClient,
	}
	f := cmd.Flags()
	f.StringArrayVar(&n.only, "server", nil, "connect this `server` only; may be given again")
	f.BoolVar(&n.one, "one", false, "write one entry, usher, for all servers")
	f.BoolVar(&n.project, "project", false, "write the project's file in the current folder, not the user's")
	f.StringVar(&n.file, "file", "", "write this `file` of the client, where it is elsewhere")
	f.BoolVar(&n.keep, "keep", false, "leave entries of the client's own, though they go past usher")
	f.BoolVar(&n.undo, "undo", false, "take usher out again")
	f.BoolVar(&n.look, "dry-run", false, "show what would change, and write nothing")
	f.BoolVar(&n.yes, "yes", false, "don't ask")
	_ = cmd.RegisterFlagCompletionFunc("server", a.completeServer)
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func completeClient(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		names = clientNames()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func clientNames() (names []string) {
	for _, c := range connect.Clients() {
		names = append(names, c.Name)
	}
	return names
}

// check finds what doesn't go together.
func (n connection) check() error {
	switch {
	case n.undo && (len(n.only) > 0 || n.one || n.keep):
		return usage("--undo takes all of usher out; --server, --one and --keep are for connecting", "To change what is connected, run it again without --undo")
	case n.project && n.file != "":
		return usage("give --project or --file, not both", "--file names the file itself")
	case n.yes && n.look:
		return usage("give --yes or --dry-run, not both", "--dry-run writes nothing")
	}
	return nil
}

// connectTries is how often a file may change while a person isn't asked.
const connectTries = 5

func (a *app) connectClient(ctx context.Context, n connection) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	if err := n.check(); err != nil {
		return err
	}
	client, ok := connect.Find(n.client)
	if !ok {
		return unknownClient(n.client)
	}
	if !n.look {
		if err := a.mayDecide(ctx); err != nil { // an agent must not take usher out of its way
			return err
		}
	}
	o, err := a.connectOptions(client, n)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := a.connectOnce(ctx, o, n)
		if !errors.Is(err, connect.ErrChanged) {
			return connectFailure(err, client)
		}
		if try == connectTries {
			return usage(o.Client.Title+" keeps writing its file", "Close it, and try again; nothing was changed")
		}
		if !n.yes {
			fmt.Fprintln(a.err, "the file has changed meanwhile; once more:")
		}
	}
}

func unknownClient(name string) error {
	text := "no client is called " + line(name)
	if near := near.Name(strings.ToLower(name), clientNames()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usage(text, "These are known: "+strings.Join(clientNames(), ", "))
}

// connectOnce plans, shows, asks and writes.
func (a *app) connectOnce(ctx context.Context, o connect.Options, n connection) error {
	plan := connect.New
	if n.undo {
		plan = connect.Undo
	}
	p, err := plan(o)
	if err != nil {
		return err
	}
	if !n.yes && !n.look && p.Changed() && (a.json || !a.err.tty || !isTerminal(a.in)) {
		a.showPlan(p, n)
		return usage("nobody can be asked here, so nothing was written", "To write it without a question, add --yes")
	}
	a.showPlan(p, n)
	if p.Changed() && !n.yes && !n.look {
		if yes, err := a.agreed(ctx); err != nil || !yes {
			fmt.Fprintln(a.err, "nothing was written")
			return err
		}
	}
	if !n.look {
		if err := p.Apply(); err != nil {
			return err
		}
	}
	return a.tellConnected(p, o, n)
}

// agreed asks whether to write.
func (a *app) agreed(ctx context.Context) (bool, error) {
	fmt.Fprintln(a.err)
	return a.agreedTo(ctx, "Write this")
}

// agreedTo asks a question that is answered by yes or no.
func (a *app) agreedTo(ctx context.Context, what string) (bool, error) {
	fmt.Fprintf(a.err, "%s?   [y] yes   [n] no (default) %s ", what, a.err.paint(bold, ">"))
	typed, err := (&terminalAsker{in: bufio.NewReader(a.in), to: a.err}).typed(ctx)
	answer, understood := parseAnswer(typed, false)
	return err == nil && understood && answer.Allow, err
}

// connectFailure says what to do about an error.
func connectFailure(err error, c *connect.Client) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, connect.ErrNotConnected) {
		return usage("usher isn't in the configuration of "+c.Title, "To see where it is, run: "+self+" connect")
	}
	if m, ok := errors.AsType[*connect.Mistake](err); ok {
		return usage(m.Text, m.Hint)
	}
	if _, ok := errors.AsType[*failure](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	hint := "Nothing was changed"
	if errors.Is(err, os.ErrPermission) {
		hint += "; its user may change it"
	}
	return &failure{fault.ExitConfig, err.Error(), hint}
}
