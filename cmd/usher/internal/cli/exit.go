package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// failure is an error as a person reads it: what went wrong, what to do next (in which self stands for usher), and the
// exit code.
type failure struct {
	code       int
	text, hint string
}

func (f *failure) Error() string { return f.text }

// twoHints is a failure with another thing that can be done.
type twoHints struct {
	*failure
	also string
}

func (t *twoHints) Unwrap() error { return t.failure }

func usage(text, hint string) error { return &failure{fault.ExitUsage, text, hint} }

// exit ends the command with a code; all has been said.
func exit(code int) error { return &failure{code: code} }

// report shows err and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) { // who read our output has seen enough
		return 0
	}
	f := explain(err)
	if f.text == "" {
		return f.code
	}
	fmt.Fprintf(a.err, "%s %s\n", a.err.paint(red, "usher:"), a.err.wrapped(line(f.text), len("usher: ")))
	hints := []string{f.hint}
	if t, ok := errors.AsType[*twoHints](err); ok {
		hints = append(hints, t.also)
	}
	for _, text := range hints {
		hint := line(a.hint(text))
		if !strings.Contains(text, self) { // commands stay whole: they are there to be copied
			hint = a.err.wrapped(hint, 2)
		}
		if hint != "" {
			fmt.Fprintf(a.err, "  %s\n", hint)
		}
	}
	return f.code
}

// explain finds out what kind of error err is.
func explain(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if m, ok := errors.AsType[*config.ManagedError](err); ok {
		return &failure{fault.ExitConfig, m.Error(), "Nothing is started meanwhile"}
	}
	if p, ok := errors.AsType[*config.Problem](err); ok {
		return &failure{fault.ExitConfig, p.Error(), "Then check it with: " + self + " doctor"}
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return explainFault(*e)
	}
	if errors.Is(err, context.Canceled) {
		return &failure{fault.ExitTimeout, "interrupted", ""}
	}
	return &failure{fault.ExitInternal, err.Error(), "This looks like a bug of usher; please report it with the steps that led here"}
}

func explainFault(e fault.Error) *failure {
	hint := e.Hint
	e.Hint = ""
	text := e.Text(fault.English)
	switch {
	case e.Kind == fault.NotFound && strings.HasPrefix(e.Detail, "nothing is called "):
		text = "no tool is called " + strings.TrimPrefix(e.Detail, "nothing is called ")
	case e.Kind == fault.NotFound && strings.Contains(e.Detail, " could mean several tools; "):
		text = e.Detail
	case e.Tool == "" && e.Kind == fault.LogUnavailable:
		text = "the event log can't be written: " + e.Detail
	case e.Kind == fault.Internal && e.Cause != nil:
		text += ": " + e.Cause.Error()
	}
	if hint == "" || e.Kind == fault.InvalidParams && e.Tool != "" {
		hint = nextStep(&e)
	}
	return &failure{e.Kind.Exit(), text, strings.TrimSuffix(hint, ".")}
}

// nextStep is the hint for a failure that brought none.
func nextStep(e *fault.Error) string {
	switch e.Kind {
	case fault.Unavailable, fault.Restarted, fault.Auth, fault.Protocol, fault.SessionExpired:
		if e.Server != "" {
			return "To see why, run: " + self + " doctor " + shellWord(e.Server)
		}
	case fault.Timeout:
		return `If it is only slow, give its entry more time: "callTimeout": "2m" (or "startTimeout" for its start)`
	case fault.PermissionDenied:
		if !strings.HasPrefix(e.Detail, "the rule ") {
			return ""
		}
		return "What is denied is listed under permissions.deny of the configuration"
	case fault.NotFound:
		if strings.Contains(e.Detail, "; did you mean ") || strings.Contains(e.Detail, " could mean several tools; ") {
			return "" // it has said what to do
		}
		return "To see all tools, run: " + self + " tools"
	case fault.InvalidParams:
		return "To see what it takes, run: " + self + " tools " + shellWord(e.Tool)
	}
	return ""
}

const exitCodes = `Exit codes of usher:

   0  all went well
   1  the tool says that it failed, or its server answered
      with an error; of permission replay: a decision would
      be another one, or can't be told
   2  wrong usage: an unknown command, flag or tool, or
      arguments that don't fit
   3  the configuration is broken or not there, or a call
      was not run because a part of the permissions can't
      be read
   4  the call was denied, or needs an approval that nobody
      could give; or whoever ran the command may not decide,
      for usher or one of its clients started it
   5  a server can't be reached, or broke down; or the
      address to serve on is taken; or usher serve has
      to run for it, and doesn't; or there is no keyring
   6  a time-out, or the call was interrupted
   7  the event log can't be written, or is not as it was
      written
  70  a bug of usher
`
