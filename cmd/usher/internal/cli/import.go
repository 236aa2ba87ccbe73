package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/config/foreign"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// importing is what the command line of usher import says.
type importing struct {
	from, as           []string
	yes, look, keyring bool
}

func (a *app) importCommand() *cobra.Command {
	var n importing
	cmd := &cobra.Command{
		Use: "import [--from PRODUCT|FILE]…", Short: "Copy servers and rules from other products",
		Long: `Copy the servers and rules that other products have on this machine, such as Claude Code,
Cursor, VS Code or Codex, into imported.json beside your configuration. It starts nothing and
changes no file of theirs. What would be written is shown first.

What imported.json has stays as it is, and your own configuration comes before it. Of two
servers with one name the first one is taken; --as gives another one a name of its own.

Secrets aren't copied: ${keyring:NAME} stands in their place, and usher secret set NAME
puts one into the keyring; --secrets-to-keyring does that now. What stands in a folder's own
files is taken only if you say so, or name the file with --from.`,
		Example: "  usher import --dry-run\n  usher import --from claude --from cursor\n  usher import --from .vscode/mcp.json\n  usher import --as cursor:github=github-work",
		Args:    noArgs,
		RunE:    a.run(func(ctx context.Context, _ []string) error { return a.importAll(ctx, n) }),
	}
	f := cmd.Flags()
	f.StringArrayVar(&n.from, "from", nil, "read this `PRODUCT` or file only, or PRODUCT:FILE; repeatable")
	f.StringArrayVar(&n.as, "as", nil, "take a server under a name: `PRODUCT:NAME=NEW`; repeatable")
	f.BoolVar(&n.look, "dry-run", false, "show what would change, and write nothing")
	f.BoolVar(&n.yes, "yes", false, "don't ask")
	f.BoolVar(&n.keyring, "secrets-to-keyring", false, "also copy the secrets, into the keyring")
	_ = cmd.RegisterFlagCompletionFunc("from", func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return productNames(), cobra.ShellCompDirectiveDefault
	})
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func productNames() (names []string) {
	for _, p := range foreign.Products() {
		names = append(names, p.Name)
	}
	return names
}

// importAll finds, plans, shows, asks and writes.
func (a *app) importAll(ctx context.Context, n importing) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	if n.yes && n.look {
		return usage("give --yes or --dry-run, not both", "--dry-run writes nothing")
	}
	if a.path() == "" {
		return usage("there is no folder for the configuration", "Name a configuration with --config")
	}
	in, err := a.importInput(n)
	if err != nil {
		return err
	}
	p, err := foreign.Make(in)
	if err != nil {
		return a.importFailure(err)
	}
	asks := a.err.tty && isTerminal(a.in) && !n.yes && !n.look && !a.json
	if asks {
		if p, err = a.importChoices(ctx, &in); err != nil {
			return err
		}
	}
	a.showImport(in, p)
	if !n.look && (p.Changes() || n.keyring) {
		if err := a.mayDecide(ctx); err != nil { // a server is a program, a rule lets tools run, and a secret is set
			return err
		}
	}
	switch {
	case n.look || !p.Changes():
	case n.yes:
	case !asks:
		if a.json {
			if err := a.tellImportJSON(in, p, nil, false); err != nil {
				return err
			}
		}
		return usage("nobody can be asked here, so nothing was written", "To write it without a question, add --yes")
	default:
		if yes, err := a.agreed(ctx); err != nil || !yes {
			fmt.Fprintln(a.err, "nothing was written")
			return err
		}
	}
	return a.importWrite(in, p, n)
}

// importFailure is for an imported.json that can't be read.
func (a *app) importFailure(err error) error {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		p.File = a.importedPath()
		return p
	}
	return &failure{fault.ExitConfig, err.Error(), "The file is " + a.importedPath()}
}

func (a *app) importedPath() string { return config.ImportedPath(a.path()) }

// errMeanwhile is for an imported.json that isn't what was shown any more.
var errMeanwhile = errors.New("imported.json has changed meanwhile")

func (a *app) importWrite(in foreign.Input, p *foreign.Plan, n importing) error {
	wrote := false
	if p.Changes() && !n.look {
		old := strings.TrimPrefix(string(p.Old), "\ufeff")
		changed, err := config.Rewrite(a.importedPath(), func(now []byte) ([]byte, error) {
			if string(now) != old {
				return nil, errMeanwhile
			}
			return []byte(strings.TrimPrefix(string(p.New), "\ufeff")), nil
		})
		switch {
		case errors.Is(err, errMeanwhile):
			return usage(err.Error()+", so nothing was written", "Run it again")
		case err != nil:
			return ruleFailure(err, grant{})
		}
		wrote = changed
	}
	var kept map[string]error
	if n.keyring && !n.look {
		p.Secrets = append(p.Secrets, p.Earlier...)
		kept = keepSecrets(p)
	}
	if a.json {
		return a.tellImportJSON(in, p, kept, wrote)
	}
	return a.tellImport(p, kept, wrote, n)
}

// importInput reads the files.
func (a *app) importInput(n importing) (in foreign.Input, err error) {
	m := foreign.Machine{Env: os.LookupEnv, Dir: absolute(a.dir)}
	if a.dir == "" {
		m.Dir = absolute(".")
	}
	m.Home, _ = os.LookupEnv("HOME")
	places, err := importPlaces(m, n.from)
	if err != nil {
		return in, err
	}
	for _, p := range places {
		r := foreign.Read(m, p)
		if p.Named && r.Err != nil {
			return in, &failure{fault.ExitConfig, p.Path + ": " + r.Err.Error(), "Nothing was changed"}
		}
		in.Readings = append(in.Readings, r)
	}
	if in.As, err = importNames(n.as, in.Readings); err != nil {
		return in, err
	}
	if in.User, err = readIfThere(a.path()); err != nil {
		return in, err
	}
	in.Imported, err = readIfThere(a.importedPath())
	return in, err
}

// readIfThere reads a configuration of ours by the rules that hold for all files.
func readIfThere(path string) ([]byte, error) {
	data, err := foreign.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &failure{fault.ExitConfig, path + ": " + err.Error(), "Nothing was changed"}
	}
	return data, nil
}

// importPlaces are the files to read: those that are there, or those that are named.
func importPlaces(m foreign.Machine, from []string) (all []foreign.Place, err error) {
	if len(from) == 0 {
		for _, p := range foreign.Find(m) {
			if !ownProjectFile(p) {
				all = append(all, p)
			}
		}
		return all, nil
	}
	for _, f := range from {
		product, path, named := strings.Cut(f, ":")
		_, known := foreign.ProductNamed(f)
		switch {
		case known:
			found := foreign.Find(m, f)
			if len(found) == 0 {
				return nil, usage("no configuration of "+f+" was found", "Name its file: --from "+f+":FILE")
			}
			all = append(all, found...)
		case named && isProduct(product):
			p := m.PlaceOf(product, absolute(path))
			p.Named = true
			all = append(all, p)
		case strings.ContainsAny(f, "/.") || exists(f):
			p := m.PlaceOf("", absolute(f))
			p.Named = true
			all = append(all, p)
		default:
			text := "no product is called " + line(f)
			if near := near.Name(strings.ToLower(f), productNames()); near != "" {
				text += "; did you mean " + near + "?"
			}
			return nil, usage(text, "These are known: "+strings.Join(productNames(), ", "))
		}
	}
	return all, nil
}

// ownProjectFile is a file that usher itself reads in that folder, once it is trusted.
func ownProjectFile(p foreign.Place) bool {
	return p.Shared && strings.HasSuffix(p.Path, "/.mcp.json")
}

func isProduct(name string) bool {
	_, ok := foreign.ProductNamed(name)
	return ok
}

func importNames(as []string, readings []*foreign.Reading) (map[string]string, error) {
	ids, names := map[string]bool{}, map[string]string{}
	for _, r := range readings {
		for _, e := range r.Entries {
			ids[e.ID()] = true
		}
	}
	for _, s := range as {
		id, name, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usage("--as needs PRODUCT:NAME=NEW", "Such as: --as cursor:github=github-work")
		}
		if !ids[id] {
			return nil, usage("no server "+line(id)+" was found", "To see all of them, run: "+self+" import --dry-run")
		}
		names[id] = name
	}
	return names, nil
}
