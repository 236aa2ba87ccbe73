package cli

import (
	"fmt"
	"strings"
)

const (
	good = "✓"
	bad  = "✗"
	off  = "–"
)

func (a *app) showDiagnosis(d *diagnosis) error {
	if a.json {
		return writeJSON(a.out, d)
	}
	a.showConfig(d.Config)
	a.showLog(d.Log)
	for _, s := range d.Servers {
		a.showServer(s, d.verbose || s.Depth != nil)
		if s.Depth != nil {
			a.showDepth(s)
		}
	}
	a.showIdle(d)
	verdict := a.out.paint(green, "all is well")
	if n := len(d.Config.Warnings); n > 0 {
		verdict += ", with " + plural(n, "warning")
	}
	if n := len(d.Waiting); n == 1 {
		verdict += "; 1 server waits for your trust"
	} else if n > 1 {
		verdict += fmt.Sprintf("; %d servers wait for your trust", n)
	}
	if !d.OK {
		verdict = a.out.paint(red, "not all is well")
	}
	_, err := fmt.Fprintln(a.out, verdict)
	return err
}

// mark begins a paragraph.
func (a *app) mark(sign, name, text string) {
	c := green
	switch sign {
	case bad:
		c = red
	case off:
		c = dim
	}
	name = line(name)
	text = wrap(line(text), width(name)+4, len(ownLine), a.out.width())
	fmt.Fprintf(a.out, "%s %s  %s\n", a.out.paint(c, sign), a.out.paint(bold, name), text)
}

// detail is a line of a paragraph.
func (a *app) detail(c style, text string) {
	fmt.Fprintf(a.out, "%s%s\n", ownLine, a.out.paint(c, a.out.wrapped(line(text), len(ownLine))))
}

func (a *app) showConfig(c configHealth) {
	switch {
	case !c.Found:
		a.mark(off, "config", "none: there is no "+c.Path)
		a.detail(dim, "to write one, see: usher help config")
	case len(c.Problems) == 0:
		a.mark(good, "config", c.Path)
	default:
		a.mark(bad, "config", c.Path)
	}
	for _, p := range c.Problems {
		field := ""
		if p.Field != "" {
			field = p.Field + ": "
		}
		a.detail("", fmt.Sprintf("%s:%d:%d: %s%s", p.File, p.Line, p.Column, field, p.Message))
	}
	for _, w := range c.Warnings {
		a.detail(yellow, "warning: "+w.Text())
	}
}

func (a *app) showLog(l logHealth) {
	switch {
	case l.Writable:
		a.mark(good, "log", l.Folder)
	case l.Error == "":
		a.mark(off, "log", "not looked at: the configuration may say where it is")
	default:
		a.mark(bad, "log", l.Error)
		a.detail("", l.Hint)
	}
}

func (a *app) showServer(s serverHealth, verbose bool) {
	switch s.State {
	case "disabled":
		a.mark(off, s.Name, "disabled")
		a.showFrom(s)
		return
	case "up":
		a.mark(good, s.Name, fmt.Sprintf("%s, %d ms", plural(s.Tools, "tool"), s.TookMs))
	default:
		a.mark(bad, s.Name, s.Error)
	}
	at := s.Target
	if s.Depth != nil && s.Depth.CommandLine != "" {
		at = s.Depth.CommandLine
	}
	a.detail(dim, s.Transport+"  "+at)
	a.showFrom(s)
	if s.Answered != "" {
		a.detail("", "it answered: "+s.Answered)
	}
	switch {
	case s.Era != "" && verbose:
		a.detail(dim, fmt.Sprintf("%s era, revision %s: %s", s.Era, s.Revision, s.Why))
	case s.Era != "":
		a.detail(dim, fmt.Sprintf("%s era, revision %s", s.Era, s.Revision))
	case s.Why != "":
		a.detail(dim, s.Why)
	}
	switch {
	case s.StrayLines > 0 && s.State == "down":
		a.detail(yellow, "it wrote to stdout, where only messages belong: "+s.StraySample)
	case s.StrayLines == 1:
		a.detail(yellow, "1 line on stdout that is no message; skipped: "+s.StraySample)
	case s.StrayLines > 1:
		a.detail(yellow, fmt.Sprintf("%d lines on stdout that are no messages; skipped, such as: %s", s.StrayLines, s.StraySample))
	}
	if s.Stderr != "" {
		a.detail(dim, "the last that it wrote to stderr:")
		for l := range strings.Lines(s.Stderr) {
			fmt.Fprintf(a.out, "      %s\n", a.out.paint(dim, line(l)))
		}
	}
	for _, h := range s.Hints {
		a.detail(yellow, h)
	}
}
