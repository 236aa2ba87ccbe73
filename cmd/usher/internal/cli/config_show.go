package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

func (a *app) configShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show what counts, and where each part of it is written",
		Long: `Show the configuration as it counts in this folder: the files that were looked at, each
setting, rule and server with its source and line, and why a server doesn't run. Nothing
is started. Secrets are not shown: a reference such as ${TOKEN} stays one, and a value
under a name that looks secret is hidden.

Of entries with one name the strongest source counts: managed (the administrator's file),
command-line, local (the user's word for one folder), project, user, imported. A project's
entry counts once you have trusted it.`,
		Example: `  usher config show
  usher config show --json | jq '.servers[] | select(.state != "runs")'`,
		Args: noArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.showSources(ctx) }),
	}
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func (a *app) configWhere() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print the path of your configuration file",
		Long:    "Print the path of your configuration file, also where there is none yet.",
		Example: `  $EDITOR "$(usher config path)"`,
		Args:    noArgs,
		RunE: a.run(func(context.Context, []string) error {
			path := a.path()
			if path == "" {
				return &failure{fault.ExitConfig, "nothing says where your configuration is", "Set HOME, or name a file with --config"}
			}
			if _, err := fmt.Fprintln(a.out, line(absolute(path))); err != nil {
				return err
			}
			if !exists(path) {
				fmt.Fprintf(a.err, "it isn't there yet; to begin one, run: %s servers add NAME -- COMMAND\n", line(a.command()))
			}
			return nil
		}),
	}
}

func (a *app) showSources(ctx context.Context) error {
	if err := a.there(); err != nil {
		return err
	}
	c, err := standard.Load(ctx, a.whereabouts())
	if _, ok := errors.AsType[*config.ManagedError](err); ok {
		return &failure{fault.ExitConfig, err.Error(), ""}
	}
	if err != nil {
		return err
	}
	shown := config.Show(c)
	if a.json {
		return writeJSON(a.out, shown)
	}
	v := &configView{app: a, Shown: shown}
	v.files()
	v.settings()
	v.rules()
	v.servers()
	a.notes(c.Problems)
	return nil
}

// configView is a configuration on a screen. A place is a source and a line there; which file that is, the first table
// says.
type configView struct {
	*app
	config.Shown
}

func (v *configView) title(s string) { fmt.Fprintln(v.out, v.out.paint(bold, s)) }

func (v *configView) files() {
	v.title("Files")
	t := table{head: []string{"SOURCE", "STATE", "FILE"}}
	for _, f := range v.Files {
		t.add(cell{sourceOf(f), ""}, cell{f.State, fileStyle(f.State)}, cell{line(f.File), ""})
	}
	t.print(v.out)
}

func sourceOf(f config.ShownFile) string {
	if f.Source == "" {
		return "-"
	}
	return f.Source
}

func fileStyle(state string) style {
	switch state {
	case config.FileMissing:
		return dim
	case config.FileBroken:
		return red
	}
	return green
}

func (v *configView) settings() {
	fmt.Fprintln(v.out)
	v.title("Settings")
	t := table{head: []string{"NAME", "FROM", "VALUE"}}
	for _, s := range v.Settings {
		t.add(cell{s.Name, ""}, cell{v.place(s.Source, s.File, s.Line), dim}, cell{line(s.Value), ""})
	}
	t.print(v.out)
}

func (v *configView) rules() {
	if len(v.Rules) == 0 {
		return
	}
	fmt.Fprintln(v.out)
	v.title("Rules")
	t := table{head: []string{"LIST", "FROM", "RULE"}}
	for _, r := range v.Rules {
		text := r.Rule
		if r.When != "" {
			text += "  when " + r.When
		}
		t.add(cell{r.List, effectStyle(r.List)}, cell{v.place(r.Source, r.File, r.Line), dim}, cell{line(text), ""})
	}
	t.print(v.out)
}

func (v *configView) servers() {
	if len(v.Servers) == 0 {
		return
	}
	fmt.Fprintln(v.out)
	v.title("Servers")
	for _, s := range v.Servers {
		fmt.Fprintf(v.out, "%s  %s  %s\n", v.out.paint(bold, line(s.Name)), v.out.paint(serverStyle(s.State), s.State),
			v.out.paint(dim, v.place(s.Source, s.File, s.Line)))
		if s.Why != "" {
			fmt.Fprintf(v.out, "    %s\n", v.out.wrapped(line(s.Why), len(ownLine)))
		}
		if s.State == config.ServerShadowed {
			continue
		}
		names := 0
		for _, f := range s.Fields {
			names = max(names, width(line(f.Name)))
		}
		for _, f := range s.Fields {
			fmt.Fprintf(v.out, "    %s  %s\n", pad(line(f.Name), names), v.out.wrapped(line(f.Value), len(ownLine)+names+len(gap)))
		}
	}
}

func serverStyle(state string) style {
	switch state {
	case config.ServerRuns:
		return green
	case config.ServerBlocked:
		return red
	case config.ServerPending:
		return yellow
	}
	return dim
}

// place names the file only where its source has several.
func (v *configView) place(source, file string, at int) string {
	if file == "" {
		return source
	}
	several := 0
	for _, f := range v.Files {
		if f.Source == source {
			several++
		}
	}
	where := []string{source}
	if several != 1 && source != config.SourceLocal {
		where = append(where, line(filepath.Base(file)))
	}
	if at > 0 {
		where = append(where, fmt.Sprint(at))
	}
	return strings.Join(where, ":")
}
