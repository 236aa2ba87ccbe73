package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/permission"
)

// listedRule is one rule of the configuration and the list that it stands in.
type listedRule struct {
	list string
	config.Rule
}

func listedRules(c *config.Config) []listedRule {
	var all []listedRule
	for _, list := range []string{"deny", "ask", "allow"} {
		for _, r := range rulesOf(c, list) {
			all = append(all, listedRule{list, r})
		}
	}
	return all
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

// reaches reports whether the rule counts for a tool. An allow rule is taken more narrowly than the others.
func (r listedRule) reaches(t permission.Target) bool {
	rule := permission.Rule{Pattern: r.Pattern}
	if r.list != "allow" {
		return rule.Reaches(t)
	}
	return rule.Permits(t)
}

// surroundings are what a rule may be about: all servers by name, and the tools of those that are up.
type surroundings struct {
	servers []string // configured, with those that are disabled or were left out
	up      map[string]bool
	tools   []usher.Tool
}

func surroundingsOf(c *config.Config, status []usher.ServerStatus, tools []usher.Tool) surroundings {
	w := surroundings{servers: append(serverNames(c), idle(c)...), up: map[string]bool{}, tools: tools}
	for _, p := range c.Problems {
		if name := fieldServer(p.Field); name != "" && !slices.Contains(w.servers, name) {
			w.servers = append(w.servers, name)
		}
	}
	for _, s := range status {
		w.up[s.Name] = s.State == "up"
	}
	return w
}

// ruleWarning is a rule that probably doesn't do what its writer meant.
type ruleWarning struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"` // in the rule's condition
	List    string `json:"list"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Text is the warning in a line.
func (w ruleWarning) Text() string {
	return fmt.Sprintf("%s:%d: permissions.%s: %s: %s", w.File, w.Line, w.List, w.Rule, w.Message)
}

// questionable lists the rules that match nothing known. Only those about the server named only count, unless it is "".
func (w surroundings) questionable(rules []listedRule, only string) []ruleWarning {
	all := []ruleWarning{}
	for _, r := range rules {
		if only != "" && !slices.Contains(w.meant(namePart(r.Pattern)), only) {
			continue
		}
		if text := w.doubt(r); text != "" {
			all = append(all, r.warning(text))
		}
	}
	return all
}

// futile says why a rule can match no tool, whatever the servers that aren't up may have; else "".
func (w surroundings) futile(r listedRule) string {
	text := w.doubt(r)
	if text == "" || text == reachesMore || text == w.misses(namePart(r.Pattern)) {
		return ""
	}
	return r.Pattern + ": " + text
}

// doubt says why a rule matches no tool, or "" if it does or may do so as soon as a server is up.
func (w surroundings) doubt(r listedRule) string {
	r.Pattern = namePart(r.Pattern)
	if slices.ContainsFunc(w.tools, func(t usher.Tool) bool { return r.reaches(targetOf(t)) }) || r.Pattern == "*" {
		return ""
	}
	near := w.near(r.Pattern)
	if strings.ContainsAny(r.Pattern, "?[]") {
		return "it matches nothing: only * is a wildcard; ?, [ and ] stand for themselves" + near
	}
	sep := separator(r.Pattern, "mcp")
	if sep == "" {
		return doubtLocal(r) + cmp.Or(w.withoutMCP(r.Pattern), near)
	}
	names := w.meant(r.Pattern)
	switch {
	case len(names) == 0 && strings.Contains(serverPart(r.Pattern, sep), "*"):
		return "" // of servers to come
	case len(names) == 0:
		return fmt.Sprintf("no server is called %q", serverPart(r.Pattern, sep)) + w.nearServer(r.Pattern, sep)
	case slices.ContainsFunc(names, func(s string) bool { return !w.up[s] }):
		return ""
	}
	return w.misses(r.Pattern)
}

// misses is for a rule of servers that are up, none of whose tools it matches now.
func (w surroundings) misses(pattern string) string {
	return "no tool of " + strings.Join(w.meant(pattern), ", ") + " matches it" + w.near(pattern)
}

const reachesMore = "it may reach more than was meant; for all servers write mcp.*"

func doubtLocal(r listedRule) string {
	switch {
	case strings.HasPrefix(r.Pattern, "mcp") && strings.Contains(r.Pattern, "*") && r.list == "allow":
		return "it matches nothing as an allow rule; for all servers write mcp.*"
	case strings.HasPrefix(r.Pattern, "mcp") && strings.Contains(r.Pattern, "*"):
		return reachesMore
	case strings.Contains(r.Pattern, "*"):
		return "no built-in tool matches it; a server's tools are named mcp.SERVER.TOOL"
	}
	return fmt.Sprintf("no built-in tool is called %q; a server's tools are named mcp.SERVER.TOOL", bareName(r.Pattern))
}

// meant are the configured servers whose tools a pattern could be about.
func (w surroundings) meant(pattern string) (names []string) {
	sep := separator(pattern, "mcp")
	if sep == "" {
		return nil
	}
	rest := strings.TrimPrefix(pattern, "mcp"+sep)
	for _, s := range w.servers {
		if rest == s || strings.HasPrefix(rest, s+sep) || strings.Contains(serverPart(pattern, sep), "*") {
			names = append(names, s)
		}
	}
	return names
}

// withoutMCP is for a pattern that is a server's but for what names begin with, such as fs or fs.*.
func (w surroundings) withoutMCP(pattern string) string {
	for _, s := range w.servers {
		if pattern == s {
			return didYouMean("mcp." + s + ".*")
		}
		for _, sep := range []string{".", "__"} {
			if strings.HasPrefix(pattern, s+sep) {
				return didYouMean("mcp" + sep + pattern)
			}
		}
	}
	return ""
}

// near offers the known name that is most like a pattern.
func (w surroundings) near(pattern string) string {
	var known []string
	for _, t := range w.tools {
		switch {
		case separator(pattern, "mcp") == "__" || separator(pattern, "local") == "__":
			known = append(known, t.Model)
		default:
			known = append(known, t.Name)
		}
		if separator(pattern, "mcp") == "" && separator(pattern, "local") == "" && t.Server == "" {
			known = append(known, bareName(t.Name))
		}
		if t.Server != "" && bareName(pattern) == targetOf(t).Tool {
			return didYouMean(t.Name)
		}
	}
	return didYouMean(near.Name(pattern, known))
}

func (w surroundings) nearServer(pattern, sep string) string {
	name := serverPart(pattern, sep)
	near := near.Name(name, w.servers)
	switch {
	case near == "" && len(w.servers) == 0:
		return "; none is configured"
	case near == "":
		return "; there are " + someNames(w.servers)
	}
	return didYouMean("mcp" + sep + near + strings.TrimPrefix(pattern, "mcp"+sep+name))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// separator is what follows the word that a pattern begins with, or "".
func separator(pattern, word string) string {
	for _, sep := range []string{".", "__"} {
		if strings.HasPrefix(pattern, word+sep) {
			return sep
		}
	}
	return ""
}

func serverPart(pattern, sep string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pattern, "mcp"+sep), sep)
	return name
}

func bareName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "local."), "local__")
}

func targetOf(t usher.Tool) permission.Target {
	if t.Server == "" {
		return permission.Target{Tool: bareName(t.Name)}
	}
	return permission.Target{Server: t.Server, Tool: strings.TrimPrefix(t.Name, "mcp."+t.Server+".")}
}

// targetNamed takes a rule's pattern for a tool's name, with the * in it as they are.
func targetNamed(c *config.Config, pattern string) permission.Target {
	sep := separator(pattern, "mcp")
	if sep == "" {
		return permission.Target{Tool: bareName(pattern)}
	}
	rest := strings.TrimPrefix(pattern, "mcp"+sep)
	server, tool, cut := strings.Cut(rest, sep)
	for _, s := range serverNames(c) {
		if len(s) >= len(server) && (rest == s || strings.HasPrefix(rest, s+sep)) {
			server, tool, cut = s, strings.TrimPrefix(rest[len(s):], sep), rest != s
		}
	}
	if !cut {
		tool = "*"
	}
	return permission.Target{Server: server, Tool: tool}
}

// overrule lists the rules that come before one in this list and concern what its pattern matches.
func overrule(c *config.Config, list, pattern string) (winning []listedRule) {
	mine := permission.Rule{Pattern: pattern}
	for _, r := range listedRules(c) {
		if r.list == list {
			break // the lists are in the order in which they win
		}
		other := permission.Rule{Pattern: r.Pattern}
		if other.Reaches(targetNamed(c, namePart(pattern))) || mine.Reaches(targetNamed(c, namePart(r.Pattern))) {
			winning = append(winning, r)
		}
	}
	return winning
}
