package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/standard"
)

// daemon is this usher as the admin API sees it. It changes the file and has the host take that up at once.
type daemon struct{ *standard.Host }

var _ admin.Host = daemon{}

// SetDisabled changes the file, and makes that count.
func (d daemon) SetDisabled(ctx context.Context, name string, disabled bool) error {
	return d.reloaded(offline{d.ConfigPath}.SetDisabled(ctx, name, disabled))
}

// AddServer changes the file, and makes that count. It makes no file in place of one that was moved away: all that is in
// force would go with the next look at it.
func (d daemon) AddServer(ctx context.Context, name string, entry json.RawMessage) error {
	if c := d.Config(); !exists(d.ConfigPath) && (len(c.Servers) > 0 || len(listedRules(c)) > 0) {
		return &fault.Error{Kind: fault.InvalidParams, Detail: "there is no " + d.ConfigPath + " any more", Hint: "Put it back, or stop usher to begin a new one."}
	}
	return d.reloaded(offline{d.ConfigPath}.AddServer(ctx, name, entry))
}

// RemoveServer changes the file, and makes that count.
func (d daemon) RemoveServer(ctx context.Context, name string) error {
	return d.reloaded(offline{d.ConfigPath}.RemoveServer(ctx, name))
}

func (d daemon) reloaded(err error) error {
	if err != nil {
		return err
	}
	return d.Reload()
}

// openAdmin serves the admin API. Usher does without it where it can't be had, and says so.
func (a *app) openAdmin(h *standard.Host, w *watcher) (closer func()) {
	api, err := admin.Open(admin.Options{
		Host: daemon{h}, DataDir: a.data(), Notice: w.say, Approvals: h.Questions(), Guard: guard(h.Ledger),
	})
	if err == nil {
		return func() { _ = api.Close() }
	}
	text := "this one can't be seen by " + a.command() + " servers: " + err.Error()
	if s, ok := errors.AsType[*admin.SocketError](err); ok && s.Hint != "" {
		text += ". " + s.Hint
	}
	w.say(text)
	return func() {}
}
