package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) allow() *cobra.Command {
	var g grant
	var ask, deny bool
	cmd := &cobra.Command{
		Use:   "allow PATTERN",
		Short: "Let tools run without asking, or deny them",
		Long: `Write a rule into your configuration; comments and layout stay. A pattern is a tool's name
with * for any characters; mcp.SERVER.* means all tools of a server. A running usher takes
it up within a second.

A destructive tool asks each time, whatever the rules say. To change what counts as its
risk, for the tool as it is defined now, give --risk.`,
		Example: `  usher allow 'mcp.fs.*'
  usher allow mcp.fs.delete_file --risk write
  usher allow --deny 'mcp.jira.delete_*'`,
		Args: needPattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			g.pattern, g.list = args[0], "allow"
			switch {
			case ask:
				g.list = "ask"
			case deny:
				g.list = "deny"
			}
			return a.write(cmd.Context(), g)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask, "ask", false, "write an ask rule: these tools always ask")
	f.BoolVar(&deny, "deny", false, "write a deny rule: these tools are hidden and refused")
	f.StringVar(&g.risk, "risk", "", "also set the risk of this one tool: read, write, network, execute or destructive (`LEVEL`)")
	cmd.MarkFlagsMutuallyExclusive("ask", "deny")
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func needPattern(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("allow needs a tool's name or a pattern", "Such as: usher allow 'mcp.fs.*'")
	case 1:
		return nil
	}
	return usage("allow takes one pattern, and there are more", "Put it in quotes, so that the shell leaves * alone: usher allow 'mcp.fs.*'")
}

// grant is a rule to write.
type grant struct {
	pattern, list, risk string
}

func (a *app) write(ctx context.Context, g grant) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	o := opening{only: func(string) bool { return false }}
	if g.risk != "" {
		if _, err := permission.ParseRisk(g.risk); err != nil {
			return usage(fmt.Sprintf("there is no risk %q", g.risk), "Write one of: read, write, network, execute, destructive")
		}
		if strings.Contains(g.pattern, "*") {
			return usage("--risk is for one tool, as it is defined now; "+g.pattern+" may be many", "Give a tool's full name; usher tools lists them")
		}
		server, _ := serverOf(c, g.pattern)
		if server != "" {
			if err := usable(c, server); err != nil {
				return err
			}
		}
		o.only = func(s string) bool { return s == server }
	}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		return a.grant(ctx, h, c, g)
	})
}

func (a *app) grant(ctx context.Context, h *standard.Host, c *config.Config, g grant) error {
	tools, err := a.toolsNow(ctx, h)
	if err != nil {
		return err
	}
	done := granted{File: h.ConfigPath, List: g.list, Rule: g.pattern, Risk: g.risk}
	if g.risk != "" {
		tool, err := one(h.Servers(), tools, g.pattern)
		if err != nil {
			return err
		}
		done.Rule, done.Hash = tool.Name, tool.Hash
		if err := config.SetRisk(h.ConfigPath, tool.Name, g.risk, tool.Hash); err != nil {
			return ruleFailure(err, grant{})
		}
	}
	if done.Changed, err = config.AddRule(h.ConfigPath, g.list, done.Rule); err != nil {
		return ruleFailure(err, g)
	}
	changed := event.GrantChanged{What: done.Rule, Scope: g.list, Hash: done.Hash, By: "terminal"}
	if _, err := h.Journal.Append(ctx, h.Journal.Host(), changed); err != nil {
		return err
	}
	a.warn(c, tools, done)
	return a.showGrant(done)
}

// toolsNow lists the tools of what was started.
func (a *app) toolsNow(ctx context.Context, h *standard.Host) ([]usher.Tool, error) {
	if err := a.ready(ctx, h.Host); err != nil {
		return nil, err
	}
	s, err := h.Session(usher.SessionOptions{Kind: "agent", Client: "usher allow"})
	if err != nil {
		return nil, err
	}
	defer s.Close("closed")
	return s.Tools(), nil
}

// one finds the one tool whose risk is set.
func one(servers []usher.ServerStatus, tools []usher.Tool, name string) (usher.Tool, error) {
	var names []string
	for _, t := range tools {
		if t.Name == name || t.Model == name || t.Server == "" && t.Name == "local."+name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	for _, s := range servers {
		if err := down(servers, s.Name, name); err != nil {
			return usher.Tool{}, err
		}
	}
	text := "no tool " + name
	if near := nearest(name, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usher.Tool{}, usage(text, "A denied tool is hidden; take its deny rule out first. To see all others, run: usher tools")
}

// granted is what was written.
type granted struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	List    string `json:"list"`
	Rule    string `json:"rule"`
	Risk    string `json:"risk,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Changed bool   `json:"changed"` // false: the rule was there already
}

func (a *app) showGrant(g granted) error {
	if c, err := a.load(); err == nil {
		g.Line = ruleLine(c, g)
	}
	if a.json {
		return writeJSON(a.out, g)
	}
	said := "wrote"
	if !g.Changed {
		said = "was there already:"
	}
	fmt.Fprintf(a.out, "%s %s %s\n", said, a.out.paint(effectStyle(g.List), g.List), a.out.paint(bold, line(g.Rule)))
	fmt.Fprintf(a.out, "  in %s:%d\n", line(g.File), g.Line)
	undo := fmt.Sprintf("take %q out of that line", line(g.Rule))
	if g.Risk != "" {
		fmt.Fprintf(a.out, "  its risk counts as %s while its definition stays as it is now\n", g.Risk)
		undo += ", and remove the tool under permissions.risk"
	}
	_, err := fmt.Fprintf(a.out, "  to undo, %s\n", undo)
	return err
}

func rulesOf(c *config.Config, list string) []config.Rule {
	switch list {
	case "deny":
		return c.Permissions.Deny
	case "ask":
		return c.Permissions.Ask
	}
	return c.Permissions.Allow
}

func ruleLine(c *config.Config, g granted) int {
	for _, r := range rulesOf(c, g.List) {
		if r.Pattern == g.Rule {
			return r.Line
		}
	}
	return 0
}

// warn says what may keep the rule from doing what was meant.
func (a *app) warn(c *config.Config, tools []usher.Tool, g granted) {
	say := func(text string) {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), line(text))
	}
	if text := namesNothing(c, tools, g.Rule); text != "" {
		say(text)
	}
	for _, list := range []string{"deny", "ask"} {
		if list == g.List {
			break
		}
		for _, r := range rulesOf(c, list) {
			if r.Pattern == g.Rule || r.Pattern == "*" {
				say(fmt.Sprintf("the %s rule %s (%s:%d) still comes first", list, r.Pattern, r.File, r.Line))
			}
		}
	}
	if g.List == "allow" && g.Risk == "" {
		say("destructive tools still ask each time; see: usher allow --help")
	}
}

// namesNothing says which part of a pattern nobody bears, or "".
func namesNothing(c *config.Config, tools []usher.Tool, pattern string) string {
	for _, sep := range []string{".", "__"} {
		rest, ok := strings.CutPrefix(pattern, "mcp"+sep)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, sep)
		known := serverNames(c)
		if strings.Contains(name, "*") || slices.ContainsFunc(known, func(s string) bool { return rest == s || strings.HasPrefix(rest, s+sep) }) {
			return ""
		}
		text := fmt.Sprintf("no server is called %q", name)
		if near := nearest(name, known); near != "" {
			text += "; did you mean mcp" + sep + near + strings.TrimPrefix(rest, name) + "?"
		}
		return text
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(pattern, "local."), "local__")
	var known []string
	for _, t := range tools {
		if t.Server == "" {
			known = append(known, strings.TrimPrefix(t.Name, "local."))
		}
	}
	if strings.Contains(bare, "*") || slices.Contains(known, bare) {
		return ""
	}
	return fmt.Sprintf("no built-in tool is called %q; a server's tools are named mcp.SERVER.TOOL", bare)
}

// ruleFailure sorts why a rule could not be written.
func ruleFailure(err error, g grant) error {
	f := explain(err)
	if f.code != fault.ExitInternal {
		return f
	}
	hint := "Nothing was changed"
	if g.risk != "" {
		hint = "The risk was written, the rule wasn't; run it again"
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &failure{fault.ExitConfig, f.text, hint}
	}
	return usage(f.text, hint)
}
