package cli

import (
	"os"

	"golang.org/x/term"
)

// terminal is where text goes: a terminal or a file.
type terminal struct {
	*os.File
	tty    bool
	colour bool
}

func newTerminal(f *os.File) *terminal {
	t := &terminal{File: f, tty: term.IsTerminal(int(f.Fd()))}
	t.colour = t.tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return t
}

// leastWidth is what is assumed of a terminal that claims to have no columns.
const leastWidth = 20

// width is how many columns there are; 0: it isn't a terminal, and nothing need be cut.
func (t *terminal) width() int {
	if !t.tty {
		return 0
	}
	w, _, err := term.GetSize(int(t.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return max(w, leastWidth)
}

// wrapped fits s, one line, into the columns right of indent.
func (t *terminal) wrapped(s string, indent int) string { return wrap(s, indent, indent, t.width()) }

// style is an SGR parameter.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// paint colours s where colours are wanted.
func (t *terminal) paint(c style, s string) string {
	if !t.colour || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

func riskStyle(risk string) style {
	switch risk {
	case "read":
		return green
	case "destructive":
		return red
	}
	return yellow
}

func effectStyle(effect string) style {
	switch effect {
	case "allow":
		return green
	case "deny":
		return red
	}
	return yellow
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
