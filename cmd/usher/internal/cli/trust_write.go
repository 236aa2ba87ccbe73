package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/standard"
)

// trustedJSON is what usher trust NAME prints.
type trustedJSON struct {
	Folder  string       `json:"folder"`
	Trusted []trustEntry `json:"trusted"`
	Waiting []trustEntry `json:"waiting,omitempty"` // shown, and not trusted
}

// keepTrust writes down what was shown, if it is still what the files say.
func (a *app) keepTrust(ctx context.Context, c *config.Config, entries []config.Server, shown []trustEntry) error {
	now, err := a.load()
	if err != nil {
		return err
	}
	for _, s := range entries {
		same := func(o config.Server) bool { return o.Name == s.Name && o.Hash == s.Hash && o.File == s.File }
		if now.Folder != c.Folder || !slices.ContainsFunc(now.Pending, same) {
			return &failure{fault.ExitConfig, fmt.Sprintf("%s of %s has changed since it was shown; nothing was trusted", s.Name, homely(s.File)),
				"Look at it again: " + self + " trust " + shellWord(s.Name)}
		}
	}
	err = a.withHost(ctx, opening{only: func(string) bool { return false }, withoutLocal: true}, func(ctx context.Context, h *standard.Host) error {
		for _, s := range entries {
			t := sqlite.Trust{Key: standard.TrustKey(c.Folder, s.Name, s.Hash), Folder: c.Folder, Name: s.Name, By: whoami(), At: time.Now()}
			if err := h.Ledger.Trust(ctx, t); err != nil {
				return trustFailure(err)
			}
			if err := a.tellTrust(ctx, h, t, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, trustedJSON{Folder: c.Folder, Trusted: shown})
	}
	for _, e := range shown {
		fmt.Fprintf(a.out, "trusted %s, as it is now\n", a.out.paint(bold, line(e.Name)))
	}
	fmt.Fprintln(a.out, "  an entry that changes waits again; a running usher takes this up in a second")
	undo := ""
	for _, e := range shown {
		undo += " " + shellWord(line(e.Name))
	}
	_, err = fmt.Fprintf(a.out, "  to undo, run: %s trust --revoke%s\n", line(a.command()), undo)
	return err
}

func (a *app) tellTrust(ctx context.Context, h *standard.Host, t sqlite.Trust, taken bool) error {
	_, err := h.Journal.Append(ctx, h.Journal.Host(), event.TrustChanged{What: t.Name, Scope: t.Folder, Hash: t.Key, By: "terminal", Taken: taken})
	return err
}

func trustFailure(err error) error {
	return &failure{fault.ExitLog, "what is trusted can't be kept: " + err.Error(), "Free space on the disk, or name another data folder with --data"}
}

// revoke takes trust in this folder's entries back, also of those that are no longer in its files.
func (a *app) revoke(ctx context.Context, c *config.Config, t trusting) error {
	all, err := a.trusts(ctx)
	if err != nil {
		return err
	}
	var these []sqlite.Trust
	for _, one := range all {
		if a.isHere(c, one.Folder) && (t.all || slices.Contains(t.names, one.Name)) {
			these = append(these, one)
		}
	}
	for _, name := range t.names {
		if !slices.ContainsFunc(these, func(o sqlite.Trust) bool { return o.Name == name }) {
			return a.notTrusted(c, all, name)
		}
	}
	if err := a.mayDecide(ctx); err != nil {
		return err
	}
	if len(these) > 0 {
		err = a.withHost(ctx, opening{only: func(string) bool { return false }, withoutLocal: true}, func(ctx context.Context, h *standard.Host) error {
			return a.takeBack(ctx, h, these)
		})
	}
	if err != nil {
		return err
	}
	return a.tellRevoked(c, these)
}

func (a *app) takeBack(ctx context.Context, h *standard.Host, these []sqlite.Trust) error {
	for _, one := range these {
		was, err := h.Ledger.Distrust(ctx, one.Key)
		if err != nil {
			return trustFailure(err)
		}
		if !was {
			continue
		}
		if err := a.tellTrust(ctx, h, one, true); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) tellRevoked(c *config.Config, these []sqlite.Trust) error {
	var names []string
	for _, one := range these {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if a.json {
		return writeJSON(a.out, struct {
			Folder  string   `json:"folder"`
			Revoked []string `json:"revoked"`
		}{c.Folder, append([]string{}, names...)})
	}
	if len(names) == 0 {
		fmt.Fprintln(a.out, "nothing of this folder was trusted")
		return nil
	}
	for _, name := range names {
		fmt.Fprintf(a.out, "took trust in %s back\n", a.out.paint(bold, line(name)))
	}
	_, err := fmt.Fprintln(a.out, "  a running usher ends it within a second")
	return err
}

// isHere reports whether trust in entries of a folder is about the folder that this run works in.
func (a *app) isHere(c *config.Config, folder string) bool {
	if c.Folder != "" {
		return folder == c.Folder
	}
	here, err := filepath.EvalSymlinks(a.workingDir()) // its file is gone
	return err == nil && folder == here
}

func (a *app) workingDir() string {
	if a.dir == "" {
		return absolute(".")
	}
	return absolute(a.dir)
}

// notTrusted says why there is nothing to take back.
func (a *app) notTrusted(c *config.Config, all []sqlite.Trust, name string) error {
	text := fmt.Sprintf("%q isn't trusted in this folder", line(name))
	for _, one := range all {
		if one.Name == name {
			return usage(text+", but in "+one.Folder, "To take that back, run: usher --dir "+shellWord(one.Folder)+" trust --revoke "+shellWord(name))
		}
	}
	if all := named(c.Servers, name); len(all) > 0 {
		s := all[0]
		if s.Source == config.SourceProject {
			return usage(fmt.Sprintf("server %s is trusted by the administrator's file", name), "You can turn it off for yourself: a deniedServers list in "+a.path())
		}
		return usage(fmt.Sprintf("server %s needs no trust: it is %s", name, whose(s)), "To keep it from running, see: "+self+" servers disable --help")
	}
	return usage(text, "To see what is, run: "+self+" trust")
}

// trusts are all entries that the user trusts, of all folders.
func (a *app) trusts(ctx context.Context) ([]sqlite.Trust, error) {
	l, err := a.ledger(ctx)
	if err != nil || l == nil {
		return nil, err
	}
	defer l.Close()
	all, err := l.Trusts(ctx)
	if err != nil {
		return nil, &failure{fault.ExitLog, "what is trusted can't be read: " + err.Error(), "Name another data folder with --data"}
	}
	return all, nil
}
