package cli

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/connect"
)

// place is where clients are looked for.
func (a *app) place() connect.Place {
	home, _ := os.UserHomeDir()
	return connect.Place{Home: home, Dir: absolute(cmp.Or(a.dir, ".")), Env: os.LookupEnv}
}

func (a *app) connectOptions(c *connect.Client, n connection) (connect.Options, error) {
	o := connect.Options{
		Client: c, Place: a.place(), Project: n.project, File: n.file, Data: a.data(),
		Only: n.only, One: n.one, KeepOwn: n.keep, Command: usherProgram(), Args: a.carried(),
	}
	if n.undo {
		return o, nil
	}
	if n.project && !c.HasProject() {
		return o, usage(c.Title+" has no file for a project", "Leave out --project")
	}
	if !n.project && n.file == "" && !c.Here(o.Place) {
		return o, usage(c.Title+" isn't on this machine: there is no "+c.File(o.Place, false), "Where its file is elsewhere, name it with --file")
	}
	cfg, err := a.load()
	if err != nil {
		return o, err
	}
	for _, name := range n.only {
		if err := usable(cfg, name); err != nil && name != usher.LocalTools && leftOut(cfg, name) == nil {
			return o, err
		}
	}
	a.mistakes(cfg.Problems, func(p config.Problem) bool { return fieldServer(p.Field) != "" })
	o.Servers = connectable(cfg, n.project)
	if len(o.Servers) == 0 && len(n.only) == 0 && !n.one {
		return o, usage("usher serves no servers yet, so there is nothing to connect",
			"To add one, run: "+self+" servers add NAME -- COMMAND; for its built-in tools alone, add --server "+usher.LocalTools)
	}
	return o, nil
}

// usherProgram is what a client starts: usher where that is this one by the path of this shell.
func usherProgram() string {
	exe, err := os.Executable()
	if err != nil {
		return "usher"
	}
	if found, err := exec.LookPath("usher"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(exe)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "usher"
		}
	}
	return exe
}

// carried are the flags by which usher finds the same files when a client starts it, maybe without the variables of this
// shell.
func (a *app) carried() []string {
	args, home := a.chosen(), a.place().Home
	if !slices.Contains(args, "--config") && a.path() != filepath.Join(home, ".config", "usher", filepath.Base(a.path())) {
		args = append(args, "--config", absolute(a.path()))
	}
	if !slices.Contains(args, "--data") && a.data() != filepath.Join(home, ".local", "share", "usher") {
		args = append(args, "--data", absolute(a.data()))
	}
	return args
}

// connectable are the servers that may get an entry: also those that only this shell lacks a variable for. In a file of
// the user there are none that only a project has.
func connectable(c *config.Config, project bool) (all []connect.Server) {
	known := map[string]bool{}
	raw := rawEntries(c.Path)
	for _, s := range c.Servers {
		known[s.Name] = true
		if s.Disabled || !project && (s.Source == "project" || s.Source == "local") {
			continue
		}
		one := connect.Server{Name: s.Name, URL: s.URL, Vars: variablesIn(raw[s.Name])}
		if s.Command != "" {
			one.Command = append([]string{s.Command}, s.Args...)
		}
		all = append(all, one)
	}
	for _, p := range c.Problems {
		name := fieldServer(p.Field)
		if _, there := raw[name]; there && !known[name] && leftOut(c, name) != nil {
			known[name] = true
			all = append(all, connect.Server{Name: name, Vars: variablesIn(raw[name])})
		}
	}
	slices.SortFunc(all, func(a, b connect.Server) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// rawEntries are the entries of the user's file as they are written; none where it can't be read.
func rawEntries(path string) map[string]string {
	all := map[string]string{}
	data, err := os.ReadFile(path)
	if err != nil {
		return all
	}
	for _, key := range []string{"mcpServers", "servers"} {
		members, _ := config.Members(path, data, key)
		for _, m := range members {
			all[m.Name] = m.Text
		}
	}
	return all
}

var (
	variableRef = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}`)
	keyringRef  = regexp.MustCompile(`\$\{keyring:`)
)

// variablesIn are the variables that an entry names, and those by which a keyring is found.
func variablesIn(entry string) (names []string) {
	for _, m := range variableRef.FindAllStringSubmatch(entry, -1) {
		names = append(names, m[1])
	}
	if keyringRef.MatchString(entry) {
		names = append(names, "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
	}
	return names
}
