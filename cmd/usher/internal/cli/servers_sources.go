package cli

import (
	"fmt"
	"slices"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
)

// rows are all servers that there is something to tell of.
func (o *overview) rows() []admin.Server { return slices.Concat(o.Servers, o.Idle) }

// sourceCell says nothing of what is in the user's own file.
func sourceCell(s admin.Server) cell {
	if !foreignTo(s.Source) {
		return cell{}
	}
	return cell{line(s.Source), dim}
}

func fromAdmin(s admin.Server) config.Server {
	return config.Server{Name: s.Name, Source: s.Source, File: s.File, Line: s.Line}
}

// idleServer says why nothing can be done to a server that may not run; nil: it may.
func (o *overview) idleServer(name string) error {
	if _, ok := o.server(name); ok {
		return nil
	}
	for _, s := range o.Idle {
		switch {
		case s.Name != name:
		case s.State == admin.StateUntrusted:
			text := fmt.Sprintf("server %s waits for your trust: a folder brings it (%s:%d)", name, homely(s.File), s.Line)
			return &failure{fault.ExitDenied, text, "To look at it, and trust it, run: " + self + " trust " + shellWord(name)}
		case s.Source == config.SourceUser: // it may still be changed
		default:
			return refusedBy(&config.Blocked{Server: fromAdmin(s), Reason: s.Reason})
		}
	}
	return nil
}

// blockedHere reports whether the user's own entry of that name is kept from running.
func (o *overview) blockedHere(name string) bool {
	return slices.ContainsFunc(o.Idle, func(s admin.Server) bool { return s.Name == name && s.Source == config.SourceUser })
}

// notOurs refuses to change an entry that isn't in the user's own file.
func (o *overview) notOurs(name string) error {
	s, ok := o.server(name)
	if !ok || !foreignTo(s.Source) || o.own(name) {
		return nil
	}
	text := fmt.Sprintf("server %s is %s; usher servers changes only your own file", name, whose(fromAdmin(s)))
	hint := "Change it there"
	switch s.Source {
	case config.SourceProject:
		hint = "To keep it from running: " + self + " trust --revoke " + shellWord(name)
	case config.SourceManaged:
		hint = "Whoever looks after this machine can change it"
	case config.SourceCommandLine:
		hint = "Leave it out of --mcp-config"
	}
	return usage(text, hint)
}

// own reports whether the user's file has an entry of that name, behind a stronger one.
func (o *overview) own(name string) bool {
	return o.local != nil && slices.ContainsFunc(o.local.Shadowed, func(s config.Shadowed) bool {
		return s.Server.Name == name && s.Server.Source == config.SourceUser
	})
}

// stronger says that another entry counts than the one in the user's file; "": theirs does.
func (o *overview) stronger(name string) string {
	s, ok := o.server(name)
	if !ok || !foreignTo(s.Source) {
		return ""
	}
	return fmt.Sprintf("; but %s:%d (%s) has a server of that name, which comes first", homely(s.File), s.Line, s.Source)
}

// tellWaiting says how to look at what waits for trust.
func (a *app) tellWaiting(o *overview) {
	n := 0
	for _, s := range o.Idle {
		if s.State == admin.StateUntrusted {
			n++
		}
	}
	if n == 0 {
		return
	}
	command := a.command()
	if o.local != nil && o.local.Folder != o.Folder && a.dir == "" {
		command += " --dir " + shellWord(line(o.Folder))
	}
	verb := "wait"
	if n == 1 {
		verb = "waits"
	}
	fmt.Fprintf(a.err, "%s %s for your trust\n  To look at what would run: %s trust\n", plural(n, "server"), verb, line(command))
}
