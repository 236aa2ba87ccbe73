package cli

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/standard"
)

// mayDecide refuses where this process can't be trusted to be a person's: one that usher or one of its clients started
// must neither answer questions nor widen what may run. Whoever writes rules, trust, grants or secrets asks it first.
func (a *app) mayDecide(ctx context.Context) error {
	var kin []ancestry.Kin
	for _, dir := range a.dataFolders() {
		more, err := a.kinOf(ctx, dir)
		if err != nil {
			return err
		}
		kin = append(kin, more...)
	}
	g := ancestry.Guard{Watchdog: watchdogArg, Kin: func(context.Context) ([]ancestry.Kin, error) { return kin, nil }}
	err := g.Check(ctx, os.Getpid())
	if r, ok := errors.AsType[*ancestry.Refused](err); ok {
		return &failure{fault.ExitDenied, r.Text, r.Hint}
	}
	return err
}

// accountHome is the home folder in place of the account's. Tests of the whole command give it a value.
var accountHome string

// dataFolders are where an usher may have noted its clients. A flag or a variable leads to another data folder, though to
// the same configuration: whoever isn't to decide must not get past the guard by one, so the account's own folder, which
// neither changes, is looked at in any case.
func (a *app) dataFolders() []string {
	all, home := []string{absolute(a.data()), absolute(standard.DataDir())}, accountHome
	if u, err := user.Current(); err == nil && home == "" {
		home = u.HomeDir
	}
	if home != "" {
		all = append(all, filepath.Join(home, ".local", "share", "usher"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// kinOf are the ushers and clients that are on record in one data folder.
func (a *app) kinOf(ctx context.Context, dataDir string) ([]ancestry.Kin, error) {
	l, err := a.ledgerOf(ctx, dataDir)
	if err != nil || l == nil {
		return nil, err
	}
	defer l.Close()
	kin, err := admin.KinOf(l)(ctx)
	if err != nil {
		return nil, &failure{fault.ExitDenied, "usher can't tell which clients are connected, so nobody can be let decide: " + err.Error(), ""}
	}
	return kin, nil
}

// guard is the one of a running usher, whose clients are in a ledger.
func guard(l *sqlite.Ledger) ancestry.Guard {
	return ancestry.Guard{Watchdog: watchdogArg, Kin: admin.KinOf(l)}
}
