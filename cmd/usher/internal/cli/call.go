package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) call() *cobra.Command {
	var (
		raw     string
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "call NAME [key=value]… | --args JSON",
		Short: "Call one tool",
		Long: `Call one tool by its full name, and print what it answers. Values are typed by the
tool's schema; key:=JSON gives a value as JSON. --args gives all arguments at once: JSON,
@file, or - for standard input.

Where a call needs a person's word it asks in the terminal; elsewhere it says which
command would allow it.`,
		Example: `  usher call read_file path=README.md limit=10
  usher call mcp.fs.list_directory path=/tmp
  usher call mcp.jira.search --args '{"query":"open","limit":5}'
  usher call mcp.jira.create --args @issue.json --json`,
		Args: needName,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			if timeout < 0 {
				return usage("--timeout can't be negative", "Such as: --timeout 2m")
			}
			in, err := a.readInput(args[1:], raw, cmd.Flags().Changed("args"))
			if err != nil {
				return err
			}
			return a.callTool(cmd.Context(), args[0], in, timeout)
		},
	}
	cmd.Flags().StringVar(&raw, "args", "", "all arguments: `JSON`, @file, or - for standard input")
	cmd.ValidArgsFunction = a.completeTool
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long the call may take (default 30s, or what the server's entry says)")
	a.jsonFlag(cmd, "print the whole result as the server sent it")
	return cmd
}

func needName(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("call needs the name of a tool", "To see all tools, run: "+self+" tools")
	}
	return nil
}

func (a *app) callTool(ctx context.Context, name string, in input, timeout time.Duration) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	if a.widens() {
		if err := a.mayDecide(ctx); err != nil {
			return err
		}
	}
	server, local := serverOf(c, name)
	if server != "" {
		if err := usable(c, server); err != nil {
			return err
		}
	}
	if broken := brokenPermissions(c); broken != nil {
		a.notes([]config.Problem{*broken})
	}
	p := &progress{to: a.err}
	asked := a.asker(p)
	o := opening{asker: asked, only: func(s string) bool { return !local && (server == "" || s == server) }}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if err := a.readyFor(ctx, h, server); err != nil {
			return err
		}
		if err := down(h.Servers(), server, name); err != nil {
			return err
		}
		r, err := a.perform(ctx, h, p, call{name, server, in, timeout})
		switch fault.KindOf(err) {
		case fault.PermissionDenied, fault.ApprovalRequired: // the answer came too late to count
		default:
			a.kept(asked)
		}
		if ctx.Err() != nil && fault.KindOf(err) == fault.ApprovalRequired {
			return ctx.Err() // the question was interrupted
		}
		if err != nil {
			return a.refusal(c, err)
		}
		return a.showResult(r)
	})
}

// widens reports whether the command line lets more run than the files do, which is as good as an answer.
func (a *app) widens() bool {
	m, err := permission.ParseMode(a.mode)
	return len(a.mcpConfig) > 0 || a.mode != "" && err == nil && (m == permission.Bypass || m == permission.AcceptReads)
}

// readyFor waits for the server that a name is of. Where the name tells none, any server may have it, and what takes
// long to start is not waited for.
func (a *app) readyFor(ctx context.Context, h *standard.Host, server string) error {
	if server != "" {
		return a.ready(ctx, h.Host)
	}
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	_ = a.ready(look, h.Host)
	if names := starting(h.Servers()); ctx.Err() == nil && len(names) > 0 {
		text := fmt.Sprintf("still starting after %d s, so its tools are not known: %s", int(firstLook.Seconds()), strings.Join(names, ", "))
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(text, len("note: ")))
	}
	return ctx.Err()
}

// call is what is to be called.
type call struct {
	name    string
	server  string // "": the name tells none
	in      input
	timeout time.Duration
}

func (a *app) perform(ctx context.Context, h *standard.Host, p *progress, c call) (*usher.Result, error) {
	s, err := h.Session(usher.SessionOptions{
		Kind: "agent", Client: "usher call", Principal: whoami(), CallTimeout: c.timeout, AskWait: a.patience(h),
	})
	if err != nil {
		return nil, err
	}
	defer s.Close("closed")
	schema := schemaOf(s.Tools(), c.name)
	args, err := c.in.arguments(schema)
	if err != nil {
		return nil, err
	}
	p.note(strangers(args, schema))
	if c.server == "" && !known(s.AllTools(), c.name) {
		// It has been waited for long enough; what is called with a context that has ended is recorded and not sent.
		over, cancel := context.WithCancel(ctx)
		cancel()
		return s.Call(over, c.name, args)
	}
	var r *usher.Result
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = s.Call(ctx, c.name, args)
	}()
	p.while(done, func() string { return "calling " + line(c.name) + " …" })
	return r, err
}

// patience is as long as a question is kept where a person sits before it; a script doesn't wait for one.
func (a *app) patience(h *standard.Host) time.Duration {
	if a.err.tty && isTerminal(a.in) {
		return h.Config().Approvals.Keep
	}
	return -1
}

// down returns why the one server that is needed didn't come up; nothing starts it a second time then.
func down(servers []usher.ServerStatus, server, tool string) error {
	for _, s := range servers {
		if s.Name == server && s.Fails() && s.Err != nil {
			e := *fault.Of(s.Err)
			e.Server, e.Tool = server, tool
			return &e
		}
	}
	return nil
}

// refusal is err with what of the configuration was left out shown before it, where that may be why.
func (a *app) refusal(c *config.Config, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case fault.ApprovalRequired, fault.PermissionDenied, fault.NotFound:
		broken := brokenPermissions(c)
		others := slices.DeleteFunc(slices.Clone(c.Problems), func(p config.Problem) bool { return broken != nil && p == *broken })
		server, _ := serverOf(c, e.Tool)
		a.mistakes(others, func(p config.Problem) bool { return ofPermissions(p) || server != "" && fieldServer(p.Field) == server })
	}
	u, ok := errors.AsType[*usher.Unanswered](err)
	if e.Kind != fault.ApprovalRequired || !ok {
		return err
	}
	one := *e
	one.Hint = u.Hint
	f := explainFault(one)
	switch r := u.Rule; {
	case r == nil:
	case r.Note != "":
		f.code = fault.ExitConfig // no rule refuses it, but that the rules can't be read
	case r.File != "":
		f.hint = fmt.Sprintf("An ask rule comes before any allow rule; take it out of %s:%d", r.File, r.Line)
	}
	if u.ID == "" || f.code == fault.ExitConfig {
		return f
	}
	return &twoHints{f, "To answer just this once, until " + u.Expires.Local().Format("15:04") + ": " + self + " approvals show " + u.ID}
}

// strangers tells of arguments that the tool doesn't know and that are near to ones that it does. Where its schema takes
// no others at all, the check of the arguments says so itself.
func strangers(args, schema json.RawMessage) string {
	var known, texts []string
	for key := range mcp.Members(mcp.Member(schema, "properties")) {
		known = append(known, mcp.Text(key))
	}
	if string(mcp.Member(schema, "additionalProperties")) == "false" {
		return ""
	}
	for key := range mcp.Members(args) {
		name := mcp.Text(key)
		if near := near.Name(name, known); near != "" && !slices.Contains(known, name) {
			texts = append(texts, fmt.Sprintf("it has no argument %s; did you mean %s?", name, near))
		}
	}
	return strings.Join(texts, " ")
}

// schemaOf returns the schema of the tool's arguments; nil if the name doesn't tell one tool.
func schemaOf(tools []usher.Tool, name string) json.RawMessage {
	if i := slices.IndexFunc(tools, bears(name)); i >= 0 {
		return inputSchema(tools[i].Definition)
	}
	return nil
}

func known(tools []usher.Tool, name string) bool { return slices.ContainsFunc(tools, bears(name)) }

func bears(name string) func(usher.Tool) bool {
	return func(t usher.Tool) bool {
		return t.Name == name || t.Model == name || t.Server == "" && "local."+name == t.Name
	}
}
