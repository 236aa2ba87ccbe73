package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) allow() *cobra.Command {
	var g grant
	var ask, deny, remove bool
	cmd := &cobra.Command{
		Use:   "allow PATTERN",
		Short: "Let tools run without asking, or deny them",
		Long: `Write a rule into your configuration; comments and layout stay. A pattern is a tool's name
with * for any characters; mcp.SERVER.* means all tools of a server. A running usher takes
it up within a second.

A rule that can match nothing, such as one for a server that isn't configured, is refused;
--force writes it all the same.

A pattern may name arguments: 'mcp.fs.write_file(path:/tmp/**)'; see: usher help config. With
--when the rule counts only where a condition in CEL holds.

For a server that a folder brings, or that was imported, an allow rule is bound to its entry as
it is now. --remove takes a rule out, and what was answered with always.

A destructive tool asks each time, whatever an allow rule says. To change what counts as its
risk, for the tool as it is defined now, give --risk.`,
		Example: `  usher allow 'mcp.fs.*'
  usher allow mcp.fs.delete_file --risk write
  usher allow 'mcp.fs.write_file(path:/tmp/**)'
  usher allow 'mcp.jira.*' --when 'args.project == "TEST"'
  usher allow --deny 'mcp.jira.delete_*'
  usher allow --remove 'mcp.fs.*'`,
		Args: needPattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			g.pattern, g.list = args[0], "allow"
			switch {
			case ask && deny:
				return usage("give --ask or --deny, not both", "A rule stands in one list; deny comes first, then ask")
			case ask:
				g.list = "ask"
			case deny:
				g.list = "deny"
			}
			if remove {
				return a.unallow(cmd.Context(), cmd, g)
			}
			return a.write(cmd.Context(), g)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask, "ask", false, "write an ask rule: these tools always ask")
	f.BoolVar(&deny, "deny", false, "write a deny rule: these tools are hidden and refused")
	f.StringVar(&g.when, "when", "", "only where this `CONDITION` in CEL holds")
	f.BoolVar(&remove, "remove", false, "take the rule out again")
	f.BoolVar(&g.force, "force", false, "also write a rule that matches nothing yet")
	f.StringVar(&g.risk, "risk", "", "also set the risk of this one tool: read, write, network, execute or destructive (`LEVEL`)")
	_ = cmd.RegisterFlagCompletionFunc("risk", completeRisks)
	cmd.ValidArgsFunction = a.completePattern
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func needPattern(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usage("allow needs a tool's name or a pattern", "Such as: "+self+" allow 'mcp.fs.*'")
	case 1:
		return nil
	}
	return usage("allow takes one pattern, and there are more", "Put it in quotes, so that the shell leaves * alone: "+self+" allow 'mcp.fs.*'")
}

// grant is a rule to write.
type grant struct {
	pattern, list, risk string
	when                string         // a condition; "": always
	bound               *config.Server // the entry that the rule is for; nil: it is for all that it names
	begins              bool           // there is no file yet
	force               bool           // also if it matches nothing
}

func (a *app) write(ctx context.Context, g grant) error {
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	if err := checkRule(g); err != nil {
		return err
	}
	c, err := a.loadAny()
	if err != nil {
		return err
	}
	if g.bound, err = entryToBind(c, g); err != nil {
		return err
	}
	g.begins = !exists(a.path())
	o := opening{lazy: true}
	if g.risk != "" {
		if _, err := permission.ParseRisk(g.risk); err != nil {
			return usage(fmt.Sprintf("there is no risk %q", g.risk), "Write one of: read, write, network, execute, destructive")
		}
		if strings.ContainsAny(g.pattern, "*(") {
			return usage("--risk is for one tool, as it is defined now; "+g.pattern+" may be many", "Give a tool's full name; to see them, run: "+self+" tools")
		}
		server, _ := serverOf(c, g.pattern)
		if server != "" {
			if err := usable(c, server); err != nil {
				return err
			}
		}
		o = opening{only: func(s string) bool { return s == server }}
	}
	return a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		return a.grant(ctx, h, c, g)
	})
}

func (a *app) grant(ctx context.Context, h *standard.Host, c *config.Config, g grant) error {
	if err := a.ready(ctx, h.Host); err != nil {
		return err
	}
	tools, err := allTools(h, "usher allow")
	if err != nil {
		return err
	}
	if text := surroundingsOf(c, h.Servers(), tools).futile(listedRule{g.list, config.Rule{Pattern: g.pattern}}); text != "" && !g.force {
		return usage(text, "Nothing was written; for tools to come, add --force")
	}
	done := granted{File: h.ConfigPath, List: g.list, Rule: g.pattern, When: g.when, Risk: g.risk, Bound: g.bound != nil, created: g.begins, bound: g.bound}
	if g.risk != "" {
		tool, err := one(h.Servers(), tools, g.pattern)
		if err != nil {
			return err
		}
		if err := lowers(c, tool, g); err != nil {
			return err
		}
		done.Rule, done.Hash = tool.Name, tool.Hash
		if err := config.SetRisk(h.ConfigPath, tool.Name, g.risk, tool.Hash); err != nil {
			return ruleFailure(err, grant{})
		}
	}
	if done.Changed, err = config.WriteRule(h.ConfigPath, g.list, done.rule()); err != nil {
		return ruleFailure(err, g)
	}
	changed := event.GrantChanged{What: done.Rule, Scope: g.list, Hash: done.Hash, By: "terminal"}
	if _, err := h.Journal.Append(ctx, h.Journal.Host(), changed); err != nil {
		return err
	}
	if now, err := a.loadAny(); err == nil {
		c = now
	}
	done.Line = ruleLine(c, done)
	w := surroundingsOf(c, h.Servers(), tools)
	a.warn(c, w, done)
	lint{a, c, h.Known(), w}.tell(done)
	return a.showGrant(done)
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
	if near := near.Name(name, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usher.Tool{}, usage(text, "To see all tools, run: "+self+" tools --all")
}

// granted is what was written.
type granted struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	List    string `json:"list"`
	Rule    string `json:"rule"`
	When    string `json:"when,omitempty"`
	Bound   bool   `json:"bound,omitempty"` // to the server's entry as it is now
	Risk    string `json:"risk,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Changed bool   `json:"changed"` // false: the rule was there already

	created bool           // with the file
	bound   *config.Server // nil: it isn't
}

// rule is what stands in the file.
func (g granted) rule() config.Rule {
	r := config.Rule{Pattern: g.Rule, When: g.When}
	if g.bound != nil {
		r.Entry = g.bound.Hash
	}
	return r
}

func (a *app) showGrant(g granted) error {
	if a.json {
		return writeJSON(a.out, g)
	}
	said := "wrote"
	if !g.Changed {
		said = "was there already:"
	}
	fmt.Fprintf(a.out, "%s %s %s\n", said, a.out.paint(effectStyle(g.List), g.List), a.out.paint(bold, line(g.Rule)))
	fresh := ""
	if g.created {
		fresh = ", which is new"
	}
	fmt.Fprintf(a.out, "  in %s:%d%s\n", line(g.File), g.Line, fresh)
	if g.When != "" {
		fmt.Fprintf(a.out, "  when %s\n", line(g.When))
	}
	if g.bound != nil {
		fmt.Fprintf(a.out, "  it holds until the entry of %s (%s:%d) changes\n", line(g.bound.Name), line(homely(g.bound.File)), g.bound.Line)
	}
	undo := fmt.Sprintf("run: %s allow --remove %s", line(a.command()), shellWord(line(g.Rule)))
	if g.List != "allow" {
		undo += " --" + g.List
	}
	if g.Risk != "" {
		fmt.Fprintf(a.out, "  its risk counts as %s while its definition stays as it is now\n", g.Risk)
		undo += "\n  and remove the tool under permissions.risk of that file"
	}
	_, err := fmt.Fprintf(a.out, "  to undo, %s\n", undo)
	return err
}

func ruleLine(c *config.Config, g granted) int {
	for _, r := range rulesOf(c, g.List) {
		if want := g.rule(); r.Pattern == want.Pattern && r.When == want.When && r.Entry == want.Entry && (g.File == "" || r.File == g.File) {
			return r.Line
		}
	}
	return 0
}

// warn says what may keep the rule from doing what was meant. c is the configuration with the rule in it.
func (a *app) warn(c *config.Config, w surroundings, g granted) {
	say := func(text string) {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
	}
	if text := w.doubt(listedRule{g.List, config.Rule{Pattern: g.Rule}}); text != "" {
		say(text)
	}
	for _, r := range overrule(c, g.List, g.Rule) {
		say(fmt.Sprintf("the %s rule %s (%s:%d) still wins for what both match", r.list, r.Pattern, r.File, r.Line))
	}
	if g.List == "allow" && g.bound == nil {
		if text := beyondReach(c, g.Rule); text != "" {
			say(text)
		}
	}
	switch {
	case g.Rule == "*" && g.List != "ask":
		say("* means every tool of every server, also of those that you add later; mcp.SERVER.* means one server's")
	case g.Rule == "*":
		say("* means every tool, also those that only read")
	}
	switch sep := separator(g.Rule, "mcp"); {
	case g.List != "allow" || g.Risk != "":
	case strings.Contains(g.Rule, "*"):
		say("destructive tools still ask each time; see: usher allow --help")
	case g.bound != nil:
	case sep != "" && strings.Contains(strings.TrimPrefix(g.Rule, "mcp"+sep), sep) && len(overrule(c, g.List, g.Rule)) == 0:
		say("if it is destructive it still asks; add --risk write to change that")
	}
	if p := brokenPermissions(c); p != nil {
		say(fmt.Sprintf("all calls ask, whatever the rules allow, until %s:%d is repaired: %s", p.File, p.Line, p.Message))
	}
}

// brokenPermissions is the first problem that makes all calls ask, because what was left out may have been a deny rule.
func brokenPermissions(c *config.Config) *config.Problem {
	if !c.Permissions.Incomplete {
		return nil
	}
	for i, p := range c.Problems {
		if ofPermissions(p) {
			return &c.Problems[i]
		}
	}
	return nil
}

func ofPermissions(p config.Problem) bool {
	rest, ok := strings.CutPrefix(p.Field, "permissions")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
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
