package standard

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/permission"
)

// reread is how often the file is looked at. Only its permissions take effect while the host runs.
const reread = time.Second

// watched is the policy of a file that may change: `usher allow` in one terminal reaches the gateway in another.
type watched struct {
	path    string
	record  func(...event.Data)
	policy  atomic.Pointer[permission.Policy]
	stamp   stamp
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// stamp tells a changed file from an unchanged one.
type stamp struct {
	size    int64
	modTime time.Time
}

func watch(ctx context.Context, path string, c *config.Config, record func(...event.Data)) *watched {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{path: path, record: record, stamp: stampOf(path), cancel: cancel}
	w.policy.Store(policyOf(c))
	w.running.Go(func() {
		tick := time.NewTicker(reread)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.reread()
			}
		}
	})
	return w
}

// Policy returns the rules in force.
func (w *watched) Policy() *permission.Policy { return w.policy.Load() }

// reread keeps the old rules when the new file can't be read: a slip of the pen must not open the door.
func (w *watched) reread() {
	now := stampOf(w.path)
	if now == w.stamp {
		return
	}
	w.stamp = now
	c, err := config.Load(w.path, os.LookupEnv)
	if err != nil {
		w.record(event.ConfigRejected{File: w.path, Message: err.Error()})
		return
	}
	w.policy.Store(policyOf(c))
	w.record(event.ConfigChanged{Sources: []string{w.path}})
}

func (w *watched) Close() error {
	w.cancel()
	w.running.Wait()
	return nil
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// policyOf makes the rules that decide. Where a part of them could not be read, it may have been a deny: then
// everything asks.
func policyOf(c *config.Config) *permission.Policy {
	p := &permission.Policy{
		Deny: rulesOf(c.Permissions.Deny), Ask: rulesOf(c.Permissions.Ask), Allow: rulesOf(c.Permissions.Allow),
		Labels: map[string]permission.Label{},
	}
	for name, l := range c.Permissions.Risk {
		if risk, err := permission.ParseRisk(l.Risk); err == nil {
			p.Labels[name] = permission.Label{Risk: risk, Hash: l.Hash}
		}
	}
	if c.Permissions.Incomplete {
		p.Ask = append(p.Ask, permission.Rule{Pattern: "*", Scope: config.SourceUser, File: c.Path})
	}
	return p
}

func rulesOf(rules []config.Rule) []permission.Rule {
	var all []permission.Rule
	for _, r := range rules {
		all = append(all, permission.Rule{Pattern: r.Pattern, Scope: r.Source, File: r.File, Line: r.Line})
	}
	return all
}
