package usher_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/flow"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// security.md §8: what a client's session held when the host closed, the client hands on for an hour after that, however
// long ago the session took it in.
func TestTaintOutlivesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := heedful{flow.NewMemory()}
		out := &fake{tools: netTool}
		begin := func() (*usher.Host, *usher.Session) {
			h, err := usher.Open(t.Context(), usher.Options{
				Servers: []usher.Server{
					{Name: "mail", Transport: local.New(&fake{tools: readTool}), Kind: "http", TrustHints: true, Credentials: true},
					{Name: "web", Transport: local.New(out), Kind: "http"},
				},
				Log: new(eventtest.Log), Taints: store,
				Policy: func() *permission.Policy { return &permission.Policy{Allow: []permission.Rule{{Pattern: "mcp.*"}}} },
			})
			if err != nil {
				t.Fatal(err)
			}
			h.Ready(t.Context())
			s, err := h.Session(usher.SessionOptions{Client: "agent"})
			if err != nil {
				t.Fatal(err)
			}
			return h, s
		}
		h, s := begin()
		reads(t, s, "mcp.mail.get")
		time.Sleep(3 * time.Hour)
		_ = h.Close()
		h, s = begin()
		defer h.Close()
		if err := sends(t, s); fault.KindOf(err) != fault.ApprovalRequired || out.calls.Load() != 0 {
			t.Errorf("the next session of the client: %v, %d calls went out", err, out.calls.Load())
		}
	})
}

// heedful is a store that heeds its context, as a file does.
type heedful struct{ *flow.Memory }

func (m heedful) Load(ctx context.Context, key string) ([]flow.Mark, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return m.Memory.Load(ctx, key)
}

func (m heedful) Add(ctx context.Context, key string, marks []flow.Mark) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return m.Memory.Add(ctx, key, marks)
}
