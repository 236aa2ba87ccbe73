package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
)

// blind is what verify can't see: the chain protects against changes by those who don't make a new chain.
const blind = `It can't see: a log that somebody with write access made anew as a whole, nor the loss of
the newest events of a process that ended and was followed by no other.`

func (a *app) verify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that the log is as it was written", Args: noArgs,
		Long: `Follow the chain of hashes through the whole log and name each place where something was
changed, removed, added or moved. ` + "\n\n" + blind,
		RunE: a.run(func(context.Context, []string) error { return a.verifyLog() }),
	}
	a.jsonFlag(cmd, "print one JSON object")
	return cmd
}

func (a *app) verifyLog() error {
	c, err := a.load()
	if err != nil {
		return err
	}
	dir := a.journalDir(c)
	r, err := journal.Verify(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure{fault.ExitLog, "there is no event log: no folder " + dir, "The first " + self + " tools or " + self + " call makes it; --data names another folder"}
	case err != nil:
		return cantRead(err)
	}
	if a.json {
		err = a.reportJSON(dir, r)
	} else {
		err = a.reportText(dir, r)
	}
	if err == nil && len(r.Problems) > 0 {
		return exit(fault.ExitLog)
	}
	return err
}

func (a *app) reportJSON(dir string, r journal.Report) error {
	if r.Problems == nil {
		r.Problems = []journal.Problem{}
	}
	if r.Notes == nil {
		r.Notes = []string{}
	}
	return writeJSON(a.out, struct {
		Folder   string            `json:"folder"`
		OK       bool              `json:"ok"`
		Files    int               `json:"files"`
		Sessions int               `json:"sessions"`
		Events   int               `json:"events"`
		Problems []journal.Problem `json:"problems"`
		Notes    []string          `json:"notes"`
	}{dir, len(r.Problems) == 0, r.Files, r.Sessions, r.Events, r.Problems, r.Notes})
}

func (a *app) reportText(dir string, r journal.Report) error {
	for _, p := range r.Problems {
		fmt.Fprintf(a.out, "%s\n", line(p.String()))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(a.out, "%s %s\n", a.out.paint(yellow, "note:"), line(n))
	}
	verdict := a.out.paint(green, "as it was written")
	if n := len(r.Problems); n > 0 {
		verdict = a.out.paint(red, plural(n, "problem"))
	}
	fmt.Fprintf(a.out, "%s: %s, %s, %s in %s\n", verdict,
		plural(r.Events, "event"), plural(r.Sessions, "session"), plural(r.Files, "file"), line(dir))
	_, err := fmt.Fprintln(a.out, a.out.paint(dim, blind))
	return err
}
