package standard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/permission"
)

// reread is how often the file is looked at.
const reread = time.Second

// watched is a configuration file that may change: `usher allow` in one terminal reaches the gateway in another, and so
// does a server that is added, changed or taken out.
type watched struct {
	path   string
	record func(...event.Data)
	notice func(string)
	// apply makes the servers of a configuration the host's. It is nil until the host is open.
	apply   func(*config.Config) (usher.Change, error)
	policy  atomic.Pointer[permission.Policy]
	config  atomic.Pointer[config.Config]
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	told   map[mistake]bool // those of the file as it was read last
	broken bool             // the file can't be read, and this was told
	stamp  stamp
}

// stamp tells a changed file from an unchanged one, also one that another file of the same size and time has replaced.
type stamp struct{ file fs.FileInfo } // nil: there is none

func (s stamp) is(o stamp) bool {
	if s.file == nil || o.file == nil {
		return s.file == o.file
	}
	return os.SameFile(s.file, o.file) && s.file.Size() == o.file.Size() && s.file.ModTime().Equal(o.file.ModTime())
}

func watch(o Options, c *config.Config, seen stamp, record func(...event.Data)) *watched {
	w := &watched{path: o.ConfigPath, record: record, notice: o.Notice, told: mistakes(c), stamp: seen}
	w.policy.Store(policyOf(c))
	w.config.Store(c)
	return w
}

// run looks at the file now and then, until Close.
func (w *watched) run(ctx context.Context, apply func(*config.Config) (usher.Change, error)) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.apply = apply
	w.running.Go(func() {
		tick := time.NewTicker(reread)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = w.reread() // it is told
			}
		}
	})
}

// Policy returns the rules in force.
func (w *watched) Policy() *permission.Policy { return w.policy.Load() }

// reread takes up a file that changed, and returns when it is in force. It keeps what was in force when the new file can't
// be read: a slip of the pen must neither open the door nor end a server.
func (w *watched) reread() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := stampOf(w.path)
	if now.is(w.stamp) {
		return nil
	}
	w.stamp = now
	c, err := loadThere(w.path)
	if err != nil {
		w.record(event.ConfigRejected{File: w.path, Line: lineOf(err), Message: err.Error()})
		w.notice(refused(err))
		w.broken = true
		return err
	}
	same := !w.broken && sameRules(c, w.config.Load()) && len(w.told) == len(c.Problems)
	w.broken = false
	w.policy.Store(policyOf(c))
	w.config.Store(c)
	change, err := w.apply(c)
	w.record(event.ConfigChanged{Sources: []string{w.path}, Added: change.Added, Removed: change.Removed, Changed: change.Changed})
	w.announce(c, change, same)
	return err
}

// refused says that the old configuration stays in force, and why.
func refused(err error) string {
	what := "can't be read"
	if _, ok := errors.AsType[*config.Problem](err); ok {
		what = "is broken"
	}
	return "the configuration " + what + ", the old one stays in force: " + err.Error()
}

// sameRules reports whether two configurations have the same rules, wherever they stand.
func sameRules(a, b *config.Config) bool {
	same := func(a, b []config.Rule) bool {
		return slices.EqualFunc(a, b, func(a, b config.Rule) bool { return a.Pattern == b.Pattern && a.Source == b.Source })
	}
	p, q := a.Permissions, b.Permissions
	return same(p.Deny, q.Deny) && same(p.Ask, q.Ask) && same(p.Allow, q.Allow) && p.Incomplete == q.Incomplete &&
		maps.EqualFunc(p.Risk, q.Risk, func(a, b config.RiskLabel) bool { return a.Risk == b.Risk && a.Hash == b.Hash })
}

// announce tells what is in force and what is wrong; a mistake that was there before is not told again, unless it makes
// everything ask. Same says that the rules and the number of mistakes are what they were.
func (w *watched) announce(c *config.Config, change usher.Change, same bool) {
	w.announceServers(c, change)
	first := firstBroken(c)
	if same && first == nil {
		// of rules there is nothing to tell
	} else if first != nil {
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

// announceServers tells which servers came, went and were replaced.
func (w *watched) announceServers(c *config.Config, change usher.Change) {
	disabled := func(name string) bool {
		return slices.ContainsFunc(c.Servers, func(s config.Server) bool { return s.Name == name && s.Disabled })
	}
	var off, gone []string
	for _, name := range change.Removed {
		if disabled(name) {
			off = append(off, name)
		} else {
			gone = append(gone, name)
		}
	}
	for _, what := range []struct {
		word  string
		names []string
	}{{"started", change.Added}, {"disabled", off}, {"removed", gone}, {"changed, and started anew", change.Changed}} {
		if len(what.names) > 0 {
			w.notice(what.word + ": " + strings.Join(what.names, ", "))
		}
	}
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

func (w *watched) Close() error {
	if w.cancel != nil {
		w.cancel()
	}
	w.running.Wait()
	return nil
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info}
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
