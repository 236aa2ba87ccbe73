package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/admin"
)

const settling = 100 * time.Millisecond // between two looks at servers that start

func (a *app) tellRestarted(o *overview, names []string, failures map[string]error) error {
	if a.json {
		if err := a.tellJSON(o, names); err != nil {
			return err
		}
	}
	code := 0
	for _, name := range names {
		s, _ := o.server(name)
		if err := failures[name]; err != nil {
			code = explain(err).code
			reason := why(err)
			if s.LastError != nil {
				reason = o.reason(s)
			}
			a.tellFailed(name, reason)
		} else if !a.json {
			a.mark(good, name, "restarted; "+plural(s.Tools, "tool"))
		}
	}
	if code != 0 {
		return exit(code)
	}
	return nil
}

// tellFailed says why a server isn't up.
func (a *app) tellFailed(name, reason string) {
	name = line(name)
	text := wrap(cut(line(reason), 2*maxReason), width(name)+2, 2, a.err.width())
	fmt.Fprintf(a.err, "%s %s\n  To see why, run: %s doctor %s\n", a.err.paint(red, name+":"), text, line(a.command()), line(shellWord(name)))
}

// settle waits for servers that start, but not long, and looks at all of them anew.
func (a *app) settle(ctx context.Context, o *overview, names []string) error {
	if !o.Running {
		c, err := a.loadAny()
		if err == nil {
			o.read(c, o.Config)
		}
		return err
	}
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(settling)
		defer tick.Stop()
		for err = o.refresh(ctx); err == nil && o.starts(names); err = o.refresh(ctx) {
			select {
			case <-look.Done():
				return
			case <-tick.C:
			}
		}
	}()
	p := &progress{to: a.err}
	p.while(done, func() string { return "waiting for " + line(strings.Join(names, ", ")) + " …" })
	return err
}

// starts reports whether one of the servers has neither come up nor failed yet.
func (o *overview) starts(names []string) bool {
	return slices.ContainsFunc(o.Servers, func(s admin.Server) bool {
		return slices.Contains(names, s.Name) && s.LastError == nil && (s.State == "idle" || s.State == "starting")
	})
}

// tellEdited says what was done, and how the server fares with it.
func (a *app) tellEdited(o *overview, name, did string) {
	s, there := o.server(name)
	p := o.leftOut(name)
	switch {
	case p != nil:
		a.mark(bad, name, did+"; but its entry doesn't count: "+p.Error())
		if o.Running {
			a.detail(dim, "variables are those of the running usher; start that again where they are set")
		}
	case o.stronger(name) != "":
		a.mark(good, name, did+o.stronger(name))
	case !o.Running, !there, s.Disabled:
		a.mark(good, name, did)
	case s.State == "up":
		a.mark(good, name, did+"; "+plural(s.Tools, "tool"))
	case s.LastError != nil:
		a.mark(bad, name, did+"; it isn't up: "+cut(o.reason(s), 2*maxReason))
		a.detail(dim, line(a.command())+" doctor "+shellWord(line(name)))
	default:
		a.mark(off, name, did+"; still starting")
	}
}

func (a *app) tellFile(o *overview) {
	fmt.Fprintf(a.out, "  in %s\n", line(o.Config))
	if !o.Running {
		fmt.Fprintf(a.err, "usher isn't running, so this is all\n  To start it, run: %s serve\n", line(a.command()))
	}
}

// tellJSON shows what is known now of the servers that a command was about.
func (a *app) tellJSON(o *overview, names []string) error {
	o.Servers = slices.DeleteFunc(o.Servers, func(s admin.Server) bool { return !slices.Contains(names, s.Name) })
	o.Idle = slices.DeleteFunc(o.Idle, func(s admin.Server) bool { return !slices.Contains(names, s.Name) })
	return writeJSON(a.out, o)
}
