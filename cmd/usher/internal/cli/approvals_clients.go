package cli

import (
	"context"
	"os"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/standard"
)

// noteClients puts on record who comes in at the doors, before they are heard: they don't answer their own questions.
func noteClients(ctx context.Context, d *doors, h *standard.Host, notice func(text string)) error {
	c, err := admin.NewClients(ctx, h.Ledger, notice)
	if err != nil {
		return notNoted(err)
	}
	for _, l := range d.listeners {
		l.Listener = c.Listener(l.Listener)
	}
	return nil
}

// noteStarter puts on record who talks to this process on its standard input.
func noteStarter(ctx context.Context, in *os.File, h *standard.Host, notice func(text string)) error {
	c, err := admin.NewClients(ctx, h.Ledger, notice)
	if err == nil {
		err = c.Stdio(ctx, in)
	}
	return notNoted(err)
}

func notNoted(err error) error {
	if err == nil {
		return nil
	}
	return &failure{fault.ExitLog, err.Error(), "Without that a client could answer its own questions. Free space on the disk, or name another folder with --data"}
}
