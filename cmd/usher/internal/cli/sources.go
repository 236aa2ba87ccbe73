package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// whose says where an entry is from, in words that follow "it is".
func whose(s config.Server) string {
	at := fmt.Sprintf(" (%s:%d)", homely(s.File), s.Line)
	switch s.Source {
	case config.SourceManaged:
		return "the administrator's" + at
	case config.SourceCommandLine:
		return "from --mcp-config" + strings.Replace(at, homely(s.File), shortName(s), 1)
	case config.SourceLocal:
		return "your own for this folder" + at
	case config.SourceProject:
		return "this folder's" + at
	case config.SourceImported:
		return "imported" + at
	}
	return "your own" + at
}

// shortName is a file, or how JSON of the command line is called.
func shortName(s config.Server) string {
	if strings.HasPrefix(s.File, "--") {
		return s.File
	}
	return homely(s.File)
}

// foreignTo reports whether an entry isn't from the user's own file.
func foreignTo(source string) bool { return source != "" && source != config.SourceUser }

// blocked is what keeps a server of a name from running that nothing else stands for; nil: nothing does.
func blocked(c *config.Config, name string) *config.Blocked {
	if len(named(c.Servers, name)) > 0 {
		return nil
	}
	if i := slices.IndexFunc(c.Blocked, func(b config.Blocked) bool { return b.Server.Name == name }); i >= 0 {
		return &c.Blocked[i]
	}
	return nil
}

func refusedBy(b *config.Blocked) error {
	text := fmt.Sprintf("server %s (%s:%d) may not run: %s", b.Server.Name, homely(b.Server.File), b.Server.Line, b.Reason)
	return &failure{fault.ExitDenied, text, "To see what counts here, and why: " + self + " config show"}
}

// awaitsTrust is the entry of a project that is all there is of a name, and isn't trusted.
func awaitsTrust(c *config.Config, name string) error {
	found := named(c.Pending, name)
	if len(found) == 0 || len(named(c.Servers, name)) > 0 {
		return nil
	}
	text := fmt.Sprintf("server %s waits for your trust: this folder brings it (%s:%d)", name, homely(found[0].File), found[0].Line)
	return &failure{fault.ExitDenied, text, "To look at it, and trust it, run: " + self + " trust " + shellWord(name)}
}

// idle are the names of servers that are configured and may not run.
func idle(c *config.Config) (names []string) {
	for _, s := range c.Pending {
		names = append(names, s.Name)
	}
	for _, b := range c.Blocked {
		names = append(names, b.Server.Name)
	}
	return names
}

// waitingText says in a sentence how many servers of the folder wait; "": none.
func (a *app) waitingText(c *config.Config) string {
	if len(c.Pending) == 0 {
		return ""
	}
	var files []string
	for _, s := range c.Pending {
		file := homely(s.File)
		if here, err := filepath.EvalSymlinks(a.workingDir()); err == nil && filepath.Dir(s.File) == here {
			file = "this folder's " + filepath.Base(s.File)
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	verb := " waits"
	if len(c.Pending) > 1 {
		verb = " wait"
	}
	return plural(len(c.Pending), "server") + " of " + strings.Join(files, " and ") + verb + " for your trust"
}

// blockedTexts says of each server that is kept from running why.
func blockedTexts(c *config.Config) (all []string) {
	for _, b := range c.Blocked {
		all = append(all, fmt.Sprintf("server %s (%s:%d) may not run: %s", b.Server.Name, homely(b.Server.File), b.Server.Line, b.Reason))
	}
	return all
}

const mostBlocked = 5 // that are named one by one

// tellIdle says on standard error which servers don't run because they wait for trust or may not.
func (a *app) tellIdle(c *config.Config) {
	if text := a.waitingText(c); text != "" {
		fmt.Fprintf(a.err, "%s %s: %s trust\n", a.err.paint(yellow, "note:"), line(text), line(a.command()))
	}
	all := blockedTexts(c)
	for i, text := range all {
		if i == mostBlocked {
			fmt.Fprintf(a.err, "%s %d more may not run: %s config show\n", a.err.paint(yellow, "note:"), len(all)-i, line(a.command()))
			break
		}
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
	}
}
