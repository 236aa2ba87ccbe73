package standard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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

// watched is a configuration that may change: `usher allow` in one terminal reaches the gateway in another, and so does a
// server that is added, changed, trusted or taken out.
type watched struct {
	o       Options
	sources config.Sources // Reload isn't set there
	reload  bool           // what Reload is; it belongs to mu
	trusts  func() string  // changes when trust does
	record  func(...event.Data)
	notice  func(string)
	// apply makes the servers of a configuration the host's. It is nil until the host is open.
	apply   func(*config.Config) (usher.Change, error)
	policy  atomic.Pointer[permission.Policy]
	flows   atomic.Pointer[usher.Flows]
	mode    atomic.Pointer[permission.Mode]
	config  atomic.Pointer[config.Config]
	managed atomic.Pointer[stamp] // of the administrator's file that is in force
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	told    map[mistake]bool // those of the files as they were read last
	broken  bool             // it can't be read, and this was told
	stamps  map[string]stamp // of all files that were looked at
	trusted string           // what trusts returned
}

// stamp tells a changed file from an unchanged one, also one that another file of the same size and time has replaced.
type stamp struct {
	file fs.FileInfo // nil: there is none
	dark bool        // there may be one, and it can't be looked at
}

func (s stamp) is(o stamp) bool {
	if s.file == nil || o.file == nil {
		return s.file == o.file && s.dark == o.dark
	}
	return os.SameFile(s.file, o.file) && s.file.Size() == o.file.Size() && s.file.ModTime().Equal(o.file.ModTime()) && changedAt(s.file) == changedAt(o.file)
}

// watch reads the configuration for the first time. trusts may be nil.
func watch(o Options, sources config.Sources, trusts func() string, record func(...event.Data)) (*watched, error) {
	if trusts == nil {
		trusts = func() string { return "" }
	}
	w := &watched{o: o, sources: sources, trusts: trusts, record: record, notice: o.Notice}
	c, seen, err := w.load()
	if err != nil {
		return nil, err
	}
	w.told, w.stamps, w.trusted = mistakes(c), seen.files, seen.trusted
	w.administered(seen)
	w.use(c)
	w.reload = exists(o.ConfigPath)
	return w, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// seen is how things were before they were read, lest a change in between be missed.
type seen struct {
	files   map[string]stamp
	trusted string
}

// load reads all. Files that come into play only now are looked at again: it is read once more where that matters.
func (w *watched) load() (*config.Config, seen, error) {
	before := w.look(slices.Collect(maps.Keys(w.stamps)))
	for {
		sources := w.sources
		sources.Reload = w.reload
		c, err := config.LoadAll(sources)
		if err != nil {
			return nil, before, err
		}
		missed := slices.ContainsFunc(c.Files, func(name string) bool { _, known := before.files[name]; return !known })
		if !missed {
			return c, before, nil
		}
		before = w.look(c.Files)
	}
}

func (w *watched) look(files []string) seen {
	s := seen{files: map[string]stamp{}, trusted: w.trusts()}
	for _, name := range files {
		s.files[name] = stampOf(name)
	}
	return s
}

// use puts a configuration in force, but for its servers.
func (w *watched) use(c *config.Config) {
	mode := modeOf(w.o, c)
	w.policy.Store(policyOf(c, w.o.Dir))
	w.flows.Store(flowsOf(c))
	w.mode.Store(&mode)
	w.config.Store(c)
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

// Flows returns what is said of flows now.
func (w *watched) Flows() *usher.Flows { return w.flows.Load() }

// Mode returns the mode of sessions that don't say.
func (w *watched) Mode() permission.Mode { return *w.mode.Load() }

// check holds an entry against the policy and the trust in force now. It doesn't wait for the next look at the files where
// the administrator's has changed since the last one, nor for whoever takes that up: that ends connections.
func (w *watched) check(s *config.Server) error {
	c := w.config.Load()
	if stampOf(w.sources.Managed).is(*w.managed.Load()) {
		return c.Check(s)
	}
	now, err := config.LoadAll(w.sources)
	if err != nil { // also where the slip is in another file: what the administrator says now can't be known
		return err
	}
	return now.Check(s)
}

// administered keeps what the administrator's file was when the one in force was read.
func (w *watched) administered(now seen) {
	stamp := w.managedOf(now)
	w.managed.Store(&stamp)
}

func (w *watched) managedOf(now seen) stamp {
	if path, err := filepath.Abs(w.sources.Managed); err == nil {
		return now.files[path]
	}
	return stampOf(w.sources.Managed)
}

// reread takes up files that changed, and returns when they are in force. It keeps what was in force when they can't be
// read: a slip of the pen must neither open the door nor end a server. An administrator's file is the exception: while it
// can't be read, or has changed and another file keeps it from counting, nothing runs.
func (w *watched) reread() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.changed() {
		return nil
	}
	c, now, err := w.load()
	if err == nil {
		now.files = only(now.files, c.Files)
	}
	w.stamps, w.trusted = now.files, now.trusted
	defer w.administered(now)
	if err != nil {
		return w.refuse(err, !w.managedOf(now).is(*w.managed.Load()))
	}
	w.reload = w.reload || exists(w.o.ConfigPath)
	same := !w.broken && sameRules(c, w.config.Load()) && len(w.told) == len(c.Problems)
	w.broken = false
	w.use(c)
	change, err := w.apply(c)
	w.record(event.ConfigChanged{Sources: readable(c), Added: change.Added, Removed: change.Removed, Changed: change.Changed})
	w.announce(c, change, same)
	return err
}

func only(stamps map[string]stamp, files []string) map[string]stamp {
	maps.DeleteFunc(stamps, func(name string, _ stamp) bool { return !slices.Contains(files, name) })
	return stamps
}

// changed reports whether it is worth reading.
func (w *watched) changed() bool {
	for name, before := range w.stamps {
		if !stampOf(name).is(before) {
			return true
		}
	}
	return w.config.Load().Folder != "" && w.trusts() != w.trusted // without a project nothing needs trust
}

// refuse keeps what is in force, and tells why. Overdue says that the administrator's file has changed since.
func (w *watched) refuse(err error, overdue bool) error {
	file := w.o.ConfigPath
	managed, ok := errors.AsType[*config.ManagedError](err)
	if ok {
		file = managed.Path
	}
	w.record(event.ConfigRejected{File: file, Line: lineOf(err), Message: err.Error()})
	w.broken = true
	if !ok && !overdue {
		w.notice(refused(err))
		return err
	}
	w.notice("nothing may be called, and no server runs until it is repaired: " + err.Error())
	none := *w.config.Load()
	none.Servers = nil
	none.Permissions.Deny = []config.Rule{{Pattern: "*", Source: config.SourceManaged, File: file, Line: max(lineOf(err), 1)}}
	w.use(&none)
	if _, e := w.apply(&none); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// readable are the files that a configuration is from.
func readable(c *config.Config) []string {
	return slices.DeleteFunc(slices.Clone(c.Files), func(name string) bool { return !exists(name) })
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
		return slices.EqualFunc(a, b, func(a, b config.Rule) bool {
			return a.Pattern == b.Pattern && a.When == b.When && a.Entry == b.Entry && a.Source == b.Source
		})
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
		w.notice("the rules of " + w.o.ConfigPath + " are in force now")
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
	if len(c.Unclear) > 0 {
		return &c.Unclear[0]
	}
	for i, p := range c.Problems {
		if rest, ok := strings.CutPrefix(p.Field, "permissions"); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return &c.Problems[i]
		}
	}
	return nil
}

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
	if err == nil {
		return stamp{file: info}
	}
	if info, err := os.Lstat(path); err == nil { // a link that leads nowhere
		return stamp{file: info}
	}
	return stamp{dark: !errors.Is(err, fs.ErrNotExist)}
}
