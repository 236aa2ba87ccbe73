package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/standard"
)

// explaining is a call that is to be explained.
type explaining struct {
	name    string
	in      input
	session string // the beginning of an id in the log; empty: none

	server string // that the name is of; empty: it tells none
	local  bool   // it can only be a built-in tool's
}

func (x explaining) hasArgs() bool { return x.in.whole != nil || len(x.in.pairs) > 0 }

func (a *app) explainCall(ctx context.Context, x explaining) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	x.server, x.local = serverOf(c, x.name)
	if x.server != "" {
		if err := usable(c, x.server); err != nil {
			return err
		}
	}
	x.local = x.local || slices.Contains(a.builtinNames(), x.name)
	as := sessionLike{As: usher.As{SessionOptions: usher.SessionOptions{Kind: "agent", Client: "usher call", Principal: whoami()}}}
	if x.session != "" {
		if as, err = a.sessionInLog(ctx, c, x); err != nil {
			return err
		}
	}
	// A name that tells no server may be a tool of one of which nothing is known yet: then all are started.
	for _, lazy := range []bool{true, false} {
		again := false
		o := opening{lazy: lazy, only: func(s string) bool { return !x.local && (x.server == "" || s == x.server) }}
		err = a.withHost(ctx, o, func(ctx context.Context, h *standard.Host) error {
			if !lazy {
				if err := a.ready(ctx, h.Host); err != nil {
					return err
				}
			}
			err := a.explainIn(ctx, h, c, x, as)
			again = lazy && fault.KindOf(err) == fault.NotFound && x.server == "" && slices.ContainsFunc(h.Servers(), isUnseen)
			return err
		})
		if !again {
			break
		}
	}
	return err
}

// isUnseen reports whether nothing is known of what a server offers.
func isUnseen(s usher.ServerStatus) bool { return s.State == "idle" && s.Tools == 0 }

// explainIn asks twice where there are arguments, since the tool's schema tells their types.
func (a *app) explainIn(ctx context.Context, h *standard.Host, c *config.Config, x explaining, as sessionLike) error {
	e, err := a.ask(ctx, h, x, as.As, nil)
	if err != nil {
		return cmp.Or(down(h.Servers(), x.server, x.name), err)
	}
	if x.hasArgs() {
		args, err := x.in.arguments(e.Tool.InputSchema)
		if err != nil {
			return err
		}
		if e, err = a.ask(ctx, h, x, as.As, args); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(h.Servers(), func(s usher.ServerStatus) bool { return s.Name == e.Tool.Server })
	v := &explained{app: a, Explanation: e, config: c, as: as, withArgs: x.hasArgs(), cached: i >= 0 && h.Servers()[i].State != "up"}
	v.mode = h.Rules().ModeOf(e.Call.Mode)
	a.mistakes(h.Problems, func(p config.Problem) bool {
		return ofPermissions(p) || fieldServer(p.Field) == e.Tool.Server && e.Tool.Server != ""
	})
	return v.show()
}

// ask waits for a server that has to be started first, and tells so.
func (a *app) ask(ctx context.Context, h *standard.Host, x explaining, as usher.As, args []byte) (e *usher.Explanation, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e, err = h.Explain(ctx, as, x.name, args)
	}()
	p := &progress{to: a.err}
	p.while(done, func() string {
		if x.server == "" {
			return ""
		}
		return "starting " + line(x.server) + " …"
	})
	return e, err
}

// sessionLike is a session that a call is explained for.
type sessionLike struct {
	usher.As
	ended   bool
	granted time.Time // when the tool was allowed for the session
}
