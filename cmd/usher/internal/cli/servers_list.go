package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/admin"
)

func (a *app) listServers(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	o, err := a.lookAtServers(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	if a.json {
		return writeJSON(a.out, o)
	}
	a.tellConfig(o)
	if absolute(a.path()) != o.Config { // what a person is to run is about that one
		a.configPath = o.Config
	}
	if len(o.rows()) > 0 {
		a.serverTable(o)
	}
	a.tellNext(o)
	return nil
}

// tellConfig says what of the configuration doesn't count, and which one counts where that isn't plain.
func (a *app) tellConfig(o *overview) {
	note := func(text string) {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "config:"), a.err.wrapped(line(text), len("config: ")))
	}
	if o.Running && absolute(a.path()) != o.Config {
		note("the running usher has " + o.Config)
	}
	if _, managed := errors.AsType[*config.ManagedError](o.broken); managed {
		note(o.broken.Error())
	} else if o.broken != nil {
		note("it can't be read, so what was read before stays in force: " + o.broken.Error())
	}
	var all []config.Problem
	for _, p := range o.Problems {
		all = append(all, config.Problem(p))
	}
	a.mistakes(all, func(p config.Problem) bool { return fieldServer(p.Field) != "" })
}

// tellNext says what a person probably wants to do.
func (a *app) tellNext(o *overview) {
	say := func(text, command string) {
		fmt.Fprintf(a.err, "%s %s %s\n", text, line(a.command()), command) // whole: it is there to be copied
	}
	if len(o.rows()) == 0 {
		fmt.Fprintf(a.err, "no servers in %s\n", line(o.Config))
		say("  To add one, run:", "servers add NAME -- COMMAND")
	}
	var failed []string
	for _, s := range o.Servers {
		if s.LastError != nil {
			failed = append(failed, s.Name)
		}
	}
	a.tellWaiting(o)
	switch {
	case !o.Running:
		fmt.Fprintln(a.err, "usher isn't running")
		say("  To start it, run:", "serve")
	case len(failed) == 1:
		say("To see why, run:", "doctor "+shellWord(line(failed[0])))
	case len(failed) > 1:
		say("To see why, run:", "doctor")
	}
}

// column is one of the table; it is left out where no server has anything in it.
type column struct {
	head string
	of   func(admin.Server) cell
}

func serverColumns(now time.Time) []column {
	return []column{
		{"NAME", func(s admin.Server) cell { return cell{line(s.Name), bold} }},
		{"STATE", func(s admin.Server) cell { return cell{line(s.State), stateStyle(s.State)} }},
		{"SOURCE", sourceCell},
		{"TRANSPORT", func(s admin.Server) cell { return cell{line(s.Transport), ""} }},
		{"ERA", func(s admin.Server) cell { return cell{line(s.Era), ""} }},
		{"TOOLS", toolsCell},
		{"RESTARTS", func(s admin.Server) cell { return cell{nonZero(s.Restarts), yellow} }},
		{"BREAKER", breakerCell},
		{"POOL", poolCell},
		{"TARGET", targetCell},
		{"UPTIME", func(s admin.Server) cell { return cell{uptime(s, now), ""} }},
	}
}

func stateStyle(state string) style {
	switch state {
	case "up":
		return green
	case admin.StateDisabled, admin.StateNotRunning:
		return dim
	case "unavailable", "failed", "closed", admin.StateBlocked:
		return red
	}
	return yellow
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// toolsCell marks what is only remembered.
func toolsCell(s admin.Server) cell {
	switch {
	case s.Cached:
		return cell{strconv.Itoa(s.Tools) + " cached", dim}
	case s.State == "up":
		return cell{strconv.Itoa(s.Tools), ""}
	}
	return cell{nonZero(s.Tools), dim}
}

// targetCell is for servers of which nothing else is known.
func targetCell(s admin.Server) cell {
	if s.State != admin.StateNotRunning && s.State != admin.StateUntrusted {
		return cell{}
	}
	return cell{cut(line(s.Target), maxTarget), dim}
}

const maxTarget = 48 // columns

// breakerCell says nothing while calls go through.
func breakerCell(s admin.Server) cell {
	if s.Breaker == "closed" {
		return cell{}
	}
	return cell{line(s.Breaker), red}
}

func poolCell(s admin.Server) cell {
	if s.Pool == nil || s.Pool.Size == 0 {
		return cell{}
	}
	return cell{fmt.Sprintf("%d/%d", s.Pool.Busy, s.Pool.Max), ""}
}

func uptime(s admin.Server, now time.Time) string {
	if s.Since.IsZero() {
		return ""
	}
	return roughly(now.Sub(s.Since))
}

// roughly is a time as one looks at it in passing.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// serverTable shows the servers; why one isn't up is on a line of its own.
func (a *app) serverTable(o *overview) {
	now, servers := time.Now(), o.rows()
	var t table
	for _, c := range serverColumns(now) {
		cells, used := make([]cell, len(servers)), false
		for i, s := range servers {
			cells[i] = c.of(s)
			used = used || cells[i].text != ""
		}
		if !used {
			continue
		}
		t.head = append(t.head, c.head)
		if t.rows == nil {
			t.rows = make([][]cell, len(servers))
		}
		for i := range cells {
			t.rows[i] = append(t.rows[i], cells[i])
		}
	}
	widths := t.widths()
	var head []cell
	for _, h := range t.head {
		head = append(head, cell{h, dim})
	}
	fmt.Fprintln(a.out, row(a.out, head, widths, 0))
	for i, cells := range t.rows {
		fmt.Fprintln(a.out, row(a.out, cells, widths, a.out.width()))
		if text := a.trouble(o, servers[i], now); text != "" {
			a.detail(dim, text)
		}
	}
}

// trouble is why a server isn't up, and when it is tried again.
func (a *app) trouble(o *overview, s admin.Server, now time.Time) string {
	text := s.Reason
	if s.State == admin.StateUntrusted {
		text = fmt.Sprintf("%s:%d", homely(s.File), s.Line)
	}
	if s.LastError != nil {
		text = cut(line(o.reason(s)), 2*maxReason)
	}
	if wait := s.NextTry.Sub(now); wait > 0 && !s.NextTry.IsZero() {
		if text != "" {
			text += "; "
		}
		text += "next try in " + roughly((wait + time.Second - 1).Truncate(time.Second))
	}
	return text
}

// reason is why a server isn't up, with what only its entry tells, and without when to call again: usher does it itself.
func (o *overview) reason(s admin.Server) string {
	f := *s.LastError
	if !s.NextTry.IsZero() {
		f.Hint = ""
	}
	err := f.Err()
	if o.local == nil {
		return why(err)
	}
	return inWords(entryOf(o.local, s.Name), err, why(err))
}
