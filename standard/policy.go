package standard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
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
	notice  func(string)
	servers map[string]string // what each server's entry was when the host was opened
	told    map[mistake]bool  // those of the file as it was read last
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

func watch(ctx context.Context, o Options, c *config.Config, seen stamp, record func(...event.Data)) *watched {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{path: o.ConfigPath, record: record, notice: o.Notice, servers: entries(c), told: mistakes(c), stamp: seen, cancel: cancel}
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
	c, err := loadThere(w.path)
	if err != nil {
		w.record(event.ConfigRejected{File: w.path, Line: lineOf(err), Message: err.Error()})
		w.notice("the configuration is broken, the old rules stay in force: " + err.Error())
		return
	}
	w.policy.Store(policyOf(c))
	w.record(event.ConfigChanged{Sources: []string{w.path}})
	w.announce(c)
	if !maps.Equal(w.servers, entries(c)) {
		w.notice("the servers changed, too; restart usher to use them")
	}
}

// announce tells what is in force and what is wrong; a mistake that was there before is not told again, unless it makes
// everything ask.
func (w *watched) announce(c *config.Config) {
	first := firstBroken(c)
	if first != nil {
		w.notice(fmt.Sprintf("all calls ask until %s:%d is repaired: %s: %s", first.File, first.Line, first.Field, first.Message))
	} else {
		w.notice("the rules of " + w.path + " are in force now")
	}
	for i, p := range c.Problems {
		w.record(event.ConfigRejected{File: p.File, Line: p.Line, Field: p.Field, Message: p.Message})
		if first != &c.Problems[i] && !w.told[mistake{p.Field, p.Message}] {
			w.notice(p.Error())
		}
	}
	w.told = mistakes(c)
}

// mistake is a problem wherever it stands: lines move.
type mistake struct{ field, message string }

func mistakes(c *config.Config) map[mistake]bool {
	all := map[mistake]bool{}
	for _, p := range c.Problems {
		all[mistake{p.Field, p.Message}] = true
	}
	return all
}

// firstBroken is the first problem because of which everything asks, or nil.
func firstBroken(c *config.Config) *config.Problem {
	if !c.Permissions.Incomplete {
		return nil
	}
	for i, p := range c.Problems {
		if rest, ok := strings.CutPrefix(p.Field, "permissions"); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return &c.Problems[i]
		}
	}
	return nil
}

// loadThere is config.Load for a file that has to be there: one that is gone or empty for a moment, as editors leave it,
// must not take the rules with it. What is looked at is what is parsed.
func loadThere(path string) (*config.Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file any more")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxConfig:
		return nil, errors.New("the file is larger than 4 MiB")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("the file is empty; write {} for no rules")
	}
	return config.Parse(path, text, os.LookupEnv)
}

const maxConfig = 4 << 20 // bytes, as config.Load has it

func lineOf(err error) int {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		return p.Line
	}
	return 0
}

// entries tells one state of the servers from another.
func entries(c *config.Config) map[string]string {
	all := map[string]string{}
	for _, s := range c.Servers {
		all[s.Name] = s.Hash
	}
	return all
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
		p.Ask = append(p.Ask, permission.Rule{
			Pattern: "*", Scope: config.SourceUser, File: c.Path,
			Note: "a part of the permissions in " + c.Path + " can't be read, so everything asks",
		})
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
