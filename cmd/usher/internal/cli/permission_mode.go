package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// shownMode is the mode that counts.
type shownMode struct {
	Mode    string   `json:"mode"`
	Source  string   `json:"source"` // of the configuration; "default" where nobody says
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Wanted  string   `json:"wanted,omitempty"`  // what is written there, where that may not be used
	Allowed []string `json:"allowed,omitempty"` // what the administrator leaves to choose from; none: all
	Changed bool     `json:"changed,omitempty"` // by this command
}

// modeOf tells the mode of a configuration, and where it is from.
func (a *app) modeOf(c *config.Config) shownMode {
	m := shownMode{Source: "default", Allowed: c.Permissions.Modes}
	wanted := c.Permissions.Mode
	for _, s := range config.Show(c).Settings {
		if s.Name == "permissions.mode" {
			m.Source, m.File, m.Line = s.Source, s.File, s.Line
		}
	}
	if a.mode != "" {
		wanted, m.Source, m.File, m.Line = a.mode, config.SourceCommandLine, "", 0
	}
	if wanted == "" {
		wanted = config.ModeDefault
	}
	parsed, _ := permission.ParseMode(wanted)
	m.Mode = standard.Rules(c).ModeOf(parsed).String()
	if m.Mode != wanted {
		m.Wanted = wanted
	}
	return m
}

// forbids says why a mode can't be used, or "".
func (m shownMode) forbids() string {
	if m.Wanted == "" {
		return ""
	}
	return fmt.Sprintf("the administrator allows only %s, so the mode is %s", strings.Join(m.Allowed, ", "), m.Mode)
}

func (a *app) showMode() error {
	if err := knownMode(a.mode); a.mode != "" && err != nil {
		return err
	}
	c, err := a.load()
	if err != nil {
		return err
	}
	m := a.modeOf(c)
	if a.json {
		return writeJSON(a.out, m)
	}
	from := "nobody has set another"
	switch {
	case m.File != "" && m.Line > 0:
		from = placeOf(m.File, m.Line, m.Source)
	case m.File != "":
		from = fmt.Sprintf("%s (%s)", m.File, m.Source)
	case m.Source == config.SourceCommandLine:
		from = "--mode"
	}
	_, err = fmt.Fprintf(a.out, "%s  %s\n", a.out.paint(bold, m.Mode), a.out.paint(dim, a.out.wrapped(line(from), len(m.Mode)+2)))
	if text := m.forbids(); text != "" {
		fmt.Fprintf(a.out, "  %s\n", a.out.wrapped(fmt.Sprintf("it says %s: %s", m.Wanted, text), 2))
	} else if len(m.Allowed) > 0 {
		fmt.Fprintf(a.out, "  %s\n", a.out.wrapped("the administrator allows: "+strings.Join(m.Allowed, ", "), 2))
	}
	return err
}

func (a *app) setMode(ctx context.Context, mode string) error {
	if err := knownMode(mode); err != nil {
		return err
	}
	c, err := a.loadAny()
	if err != nil {
		return err
	}
	if allowed := c.Permissions.Modes; len(allowed) > 0 && !slices.Contains(allowed, mode) {
		return &failure{fault.ExitDenied, "the administrator doesn't allow the mode " + mode, "There are: " + strings.Join(allowed, ", ")}
	}
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	changed := false
	o := opening{only: func(string) bool { return false }, lazy: true, withoutLocal: true}
	if err := a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
		if changed, err = config.SetMode(h.ConfigPath, mode); err != nil {
			return ruleFailure(err, grant{})
		}
		_, err = h.Journal.Append(ctx, h.Journal.Host(), event.GrantChanged{What: "permissions.mode", Scope: mode, By: "terminal"})
		return err
	}); err != nil {
		return err
	}
	a.mode = "" // what was asked is about the file
	if c, err = a.loadAny(); err != nil {
		return err
	}
	return a.tellMode(c, mode, changed)
}

func (a *app) tellMode(c *config.Config, mode string, changed bool) error {
	m := a.modeOf(c)
	m.Changed = changed
	if m.Source != config.SourceUser {
		fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"),
			a.err.wrapped(line(fmt.Sprintf("in this folder the mode is %s all the same: %s", m.Mode, placeOf(m.File, m.Line, m.Source))), len("note: ")))
	}
	if a.json {
		return writeJSON(a.out, m)
	}
	said := "wrote"
	if !changed {
		said = "was there already:"
	}
	_, err := fmt.Fprintf(a.out, "%s mode %s\n  in %s\n", said, a.out.paint(bold, mode), line(a.path()))
	return err
}

func knownMode(mode string) error {
	if _, err := permission.ParseMode(mode); err == nil {
		return nil
	}
	names := modeNames()
	return usage(fmt.Sprintf("there is no mode %q", line(mode))+didYouMean(near.Name(mode, names)), "Write one of: "+strings.Join(names, ", "))
}
