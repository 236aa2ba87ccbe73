package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/standard"
)

// trustList is what usher trust prints.
type trustList struct {
	Folder  string          `json:"folder"` // of the project; "": there is none here
	Waiting []trustEntry    `json:"waiting"`
	Blocked []idleServer    `json:"blocked"` // of the folder; trust doesn't help
	Trusted []trustedServer `json:"trusted"` // in all folders
}

type trustedServer struct {
	Name   string    `json:"name"`
	Folder string    `json:"folder"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	// State is "counts", "changed" (the entry isn't what was trusted) or "" where the folder is another one.
	State string `json:"state,omitempty"`
}

func (a *app) listTrust(ctx context.Context, c *config.Config) error {
	all, err := a.trusts(ctx)
	if err != nil {
		return err
	}
	l := trustList{Folder: c.Folder, Waiting: viewsOf(c, c.Pending), Blocked: []idleServer{}, Trusted: a.trustedServers(c, all)}
	for _, b := range c.Blocked {
		if b.Server.Source == config.SourceProject {
			l.Blocked = append(l.Blocked, idleOf(b.Server, b.Reason))
		}
	}
	if a.json {
		return writeJSON(a.out, l)
	}
	a.showWaiting(l)
	a.showTrusted(l)
	a.mistakes(c.Problems, func(p config.Problem) bool { return c.Folder != "" && strings.HasPrefix(p.File, c.Folder+"/") })
	return nil
}

func (a *app) trustedServers(c *config.Config, all []sqlite.Trust) []trustedServer {
	here := map[string]bool{}
	for _, s := range projectServers(c) {
		here[standard.TrustKey(c.Folder, s.Name, s.Hash)] = true
	}
	out := []trustedServer{}
	for _, t := range all {
		one := trustedServer{Name: t.Name, Folder: t.Folder, At: t.At, By: t.By}
		switch {
		case here[t.Key]:
			one.State = "counts"
		case a.isHere(c, t.Folder):
			one.State = "changed"
		}
		out = append(out, one)
	}
	return out
}

// projectServers are the entries of the project that have been let through.
func projectServers(c *config.Config) (all []config.Server) {
	add := func(s config.Server) {
		if s.Source == config.SourceProject {
			all = append(all, s)
		}
	}
	for _, s := range c.Servers {
		add(s)
	}
	for _, b := range c.Blocked {
		add(b.Server)
	}
	for _, s := range c.Shadowed {
		add(s.Server)
	}
	return all
}

func (a *app) showWaiting(l trustList) {
	if len(l.Waiting) == 0 {
		where := "this folder brings no servers"
		if l.Folder != "" {
			where = "nothing of " + homely(l.Folder) + " waits for your trust"
		}
		fmt.Fprintln(a.err, line(where))
	} else {
		t := table{head: []string{"WAITS", "FROM", "RUNS"}}
		for _, e := range l.Waiting {
			t.add(cell{line(e.Name), bold}, cell{fmt.Sprintf("%s:%d", line(below(l.Folder, e.File)), e.Line), ""}, cell{e.glance(), dim})
		}
		t.print(a.out)
		name := shellWord(line(l.Waiting[0].Name))
		fmt.Fprintf(a.err, "To see all of one, and trust it: %s trust %s\n", line(a.command()), name)
	}
	for _, b := range l.Blocked {
		text := fmt.Sprintf("%s (%s:%d) may not run, trusted or not: %s", b.Name, below(l.Folder, b.File), b.Line, b.Reason)
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
	}
}

// below is a file as one calls it in a folder.
func below(folder, file string) string {
	if rest, ok := strings.CutPrefix(file, folder+"/"); ok && folder != "" {
		return rest
	}
	return homely(file)
}

// glance is the beginning of what runs, for a table.
func (e trustEntry) glance() string {
	if e.Command == "" {
		return exactName(e.URL)
	}
	text := exactName(e.Command)
	for _, arg := range e.Args {
		text += " " + exactName(arg)
	}
	return text
}

func (a *app) showTrusted(l trustList) {
	if len(l.Trusted) == 0 {
		return
	}
	if len(l.Waiting) > 0 {
		fmt.Fprintln(a.out)
	}
	t := table{head: []string{"TRUSTED", "SINCE", "STATE", "FOLDER"}}
	for _, s := range l.Trusted {
		state := cell{"elsewhere", dim}
		switch s.State {
		case "counts":
			state = cell{"counts", green}
		case "changed":
			state = cell{"changed or gone", yellow}
		}
		t.add(cell{line(s.Name), bold}, cell{s.At.Local().Format("2006-01-02"), ""}, state, cell{line(homely(s.Folder)), ""})
	}
	t.print(a.out)
}
