package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/internal/condition"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// checkRule refuses a rule that nothing could decide by.
func checkRule(g grant) error {
	if err := permission.CheckPattern(g.pattern); err != nil {
		return usage(g.pattern+" can't be read: "+err.Error(), "Such as: "+self+" allow 'mcp.fs.write_file(path:/tmp/**)'")
	}
	if g.when == "" {
		return nil
	}
	if err := compiles(g.when); err != nil {
		return usage("--when: "+err.Error(), "Such as: --when 'args.path.startsWith(\"/tmp/\")'; see: "+self+" help config")
	}
	return nil
}

func compiles(when string) error {
	c, err := condition.New()
	if err != nil {
		return err
	}
	_, err = c.Compile(when)
	return err
}

// entryToBind is the entry that an allow rule has to be bound to: the user's rules don't reach a server that a folder
// brings, or one that was copied, by its name alone.
func entryToBind(c *config.Config, g grant) (*config.Server, error) {
	if g.list != "allow" {
		return nil, nil
	}
	name := oneServer(c, g.pattern)
	for i, s := range c.Servers {
		if s.Name == name && needsBinding(s) {
			return &c.Servers[i], nil
		}
	}
	if err := awaitsTrust(c, name); err != nil {
		return nil, err
	}
	return nil, nil
}

func needsBinding(s config.Server) bool {
	return s.Source == config.SourceProject || s.Source == config.SourceImported
}

// oneServer is the server whose tools alone a pattern names; "": it may be several, or none that is known.
func oneServer(c *config.Config, pattern string) string {
	w := surroundings{servers: append(serverNames(c), idle(c)...)}
	pattern = namePart(pattern)
	sep := separator(pattern, "mcp")
	if sep == "" || strings.Contains(serverPart(pattern, sep), "*") {
		return ""
	}
	longest := ""
	for _, name := range w.meant(pattern) {
		if len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// beyondReach names the servers that a rule for several seems to reach and doesn't.
func beyondReach(c *config.Config, pattern string) string {
	if oneServer(c, pattern) != "" {
		return ""
	}
	var names []string
	for _, s := range c.Servers {
		r := permission.Rule{Pattern: namePart(pattern)}
		if needsBinding(s) && r.Permits(permission.Target{Server: s.Name, Tool: "*"}) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "it doesn't reach servers that a folder brings or that were imported (" + someNames(names) + "); a rule for one of them, such as mcp." + names[0] + ".*, does"
}

// lowers refuses to take risk from a tool of a server that others wrote: such a label counts for the user's own alone.
func lowers(c *config.Config, t usher.Tool, g grant) error {
	risk, err := permission.ParseRisk(g.risk)
	s := entryOf(c, t.Server)
	if err != nil || !needsBinding(s) || risk >= t.Risk {
		return err
	}
	return usage(fmt.Sprintf("the risk of %s (%s) can't be lowered: its server is %s", t.Name, t.Risk, whose(s)), "Put the server into your own file first")
}

// unallow takes a rule out, and the lasting yes to that tool. It widens where the list forbids, so it is guarded, too.
func (a *app) unallow(ctx context.Context, cmd *cobra.Command, g grant) error {
	if g.risk != "" || g.when != "" || g.force {
		return usage("--remove goes with --ask or --deny alone", "See: "+cmd.CommandPath()+" --help")
	}
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	list := g.list
	rule, err := config.RemoveRule(a.path(), list, g.pattern)
	if err != nil {
		return ruleFailure(err, grant{})
	}
	kept := false
	if list == "allow" {
		if kept, err = config.RemoveGrant(a.path(), g.pattern); err != nil {
			return ruleFailure(err, grant{})
		}
	}
	if !rule && !kept {
		return notThere(c, g)
	}
	err = a.withHost(ctx, opening{only: func(string) bool { return false }, withoutLocal: true}, func(ctx context.Context, h *standard.Host) error {
		_, err := h.Journal.Append(ctx, h.Journal.Host(), event.GrantChanged{What: g.pattern, Scope: "no " + list, By: "terminal"})
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, struct {
			File    string `json:"file"`
			List    string `json:"list"`
			Rule    string `json:"rule"`
			Removed bool   `json:"removed"`
		}{a.path(), list, g.pattern, true})
	}
	_, err = fmt.Fprintf(a.out, "removed %s %s\n  from %s\n", a.out.paint(effectStyle(list), list), a.out.paint(bold, line(g.pattern)), line(a.path()))
	for _, r := range rulesOf(c, list) {
		if r.Pattern == g.pattern && r.Source != config.SourceUser {
			fmt.Fprintf(a.err, "%s it still stands in %s:%d (%s)\n", a.err.paint(yellow, "note:"), line(r.File), r.Line, r.Source)
		}
	}
	return err
}

// notThere says where such a rule is, where it isn't in the user's file.
func notThere(c *config.Config, g grant) error {
	text := fmt.Sprintf("there is no %s rule %s in %s", g.list, g.pattern, c.Path)
	for _, r := range listedRules(c) {
		if r.Pattern == g.pattern {
			return usage(text, fmt.Sprintf("There is one under %s in %s:%d", r.list, r.File, r.Line))
		}
	}
	var same []string
	for _, r := range rulesOf(c, g.list) {
		if !slices.Contains(same, r.Pattern) {
			same = append(same, r.Pattern)
		}
	}
	if len(same) == 0 {
		return usage(text, "There are no "+g.list+" rules at all")
	}
	return usage(text, "There are: "+someNames(same))
}
