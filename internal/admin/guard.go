package admin

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/socket"
)

type guestKey struct{}

// withGuest has a request know the connection that it came on.
func withGuest(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// mayDecide refuses a request by which somebody would answer a question of their own, or change what runs; what names it
// for whoever sits before usher. That is asked anew for each request: a client may have connected since.
func (h *handler) mayDecide(ctx context.Context, what string) error {
	err := h.isPerson(ctx)
	if err != nil && h.notice != nil {
		h.notice(fmt.Sprintf("%s was refused: %v", what, fault.Of(err).Detail))
	}
	return err
}

func (h *handler) isPerson(ctx context.Context) error {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok || g.process.PID == 0 {
		return denied(h.guard.Check(ctx, 0))
	}
	if err := h.guard.Check(ctx, g.process.PID); err != nil {
		return denied(err)
	}
	// All that was read above was about who connected, and not about another process with its id.
	if !g.process.Alive() || socket.PeerLives(g.Conn) != nil {
		return denied(&ancestry.Refused{Text: "the process that connected has ended, so nobody knows who asks", Hint: "Run the command again"})
	}
	return nil
}

func denied(err error) error {
	e := &fault.Error{Kind: fault.PermissionDenied, Detail: err.Error(), Cause: err}
	if r, ok := errors.AsType[*ancestry.Refused](err); ok {
		e.Hint = r.Hint
	}
	return e
}
