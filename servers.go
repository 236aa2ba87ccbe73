package usher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/catalog"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/router"
	"github.com/usher-mcp/usher/internal/upstream"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Server is one configured server.
type Server struct {
	Name       string              // as the configuration calls it; unique
	Transport  transport.Transport // how to reach it
	Fallback   transport.Transport // how to reach it if it is too old for Transport; nil: not at all
	Kind       string              // stdio, http, sse, ws or grpc, for events; stdio is a child process
	TrustHints bool                // the user trusts what it says about its own tools
	// Source is which part of the configuration it is from ("managed", "command-line", "local", "project", "user" or
	// "imported"), which decides the allow rules that reach it (F3); empty: the program's own, as the user's.
	Source string
	// Entry is a hash of its entry, to which grants are bound (F4). It must tell no secret. Empty: the Key.
	Entry string
	// Package returns what a process of this server runs, such as "npm:name@1.2.3", to which grants are bound (F4); empty
	// where it doesn't know. It is called once for each process, after that has answered. Nil: nothing is known.
	Package func(pid int) string
	// Credentials says that its entry carries a secret, so that what it answers isn't everybody's.
	Credentials bool
	// Key is the identity of the server's configuration: Apply leaves a server alone whose Key is the same, and what is
	// remembered of it is found by it. It is stored, so it must tell no secret. Empty: the Name, so that Apply never
	// replaces the server, and nothing is remembered over restarts.
	Key string
	// CallTimeout is how long a call may stay without answer or progress, in the gateway too; default Lifecycle.Request,
	// in the gateway no such limit.
	CallTimeout time.Duration
	Lifecycle   *Lifecycle // nil: DefaultLifecycle
}

// Lifecycle is the numbers by which a server is kept alive.
type Lifecycle = lifecycle.Settings

// DefaultLifecycle returns the numbers that hold where nobody says otherwise.
func DefaultLifecycle() Lifecycle { return lifecycle.Default() }

// Store keeps what servers offer over restarts.
type Store = catalog.Store

// Record is what a Store keeps.
type Record = catalog.Record

// Change says what Apply did, by names of servers, sorted.
type Change struct{ Added, Removed, Changed []string }

const (
	stdioSlots  = 3  // local servers that start at once (C8)
	remoteSlots = 20 // remote ones
)

// hosted is a server of this host.
type hosted struct {
	Server
	up    *upstream.Server
	shelf *catalog.Shelf
	owner router.Origin
	grace time.Time // nobody waits for its first list any longer (C8)

	ran ran // the packages of its processes

	showing sync.Mutex // guards told
	told    told
}

// told is what of a server the router and the log have been told.
type told struct {
	tools              []mcp.Tool
	any                bool // tools are the router's, if there are any
	resources, prompts int
}

// servers are all that are configured now. A call reads the map without waiting; Apply replaces it.
type servers struct {
	now           atomic.Pointer[map[string]*hosted]
	applying      sync.Mutex
	closed        bool // guarded by applying
	catalog       *catalog.Catalog
	forgetful     *catalog.Catalog // of servers without a Key
	stdio, remote chan struct{}
}

func (s *servers) init(store Store, redact func([]byte) []byte, report func(error)) {
	s.now.Store(&map[string]*hosted{})
	s.catalog = catalog.New(catalog.Options{Store: store, Redact: redact, Report: report})
	s.forgetful = catalog.New(catalog.Options{})
	s.stdio, s.remote = make(chan struct{}, stdioSlots), make(chan struct{}, remoteSlots)
}

func (s *servers) all() map[string]*hosted { return *s.now.Load() }

// openServers also connects the local tools, which must be there before the first call.
func (h *Host) openServers() error {
	if h.o.Local != nil {
		none := lifecycle.Minimal()
		none.Isolation, none.Concurrent, none.Retry = lifecycle.Shared, 0, lifecycle.Backoff{}
		h.local = h.host(Server{Transport: localTransport(h.o.Local), Kind: "local", TrustHints: true, Lifecycle: &none}, h.servers.forgetful.Shelves(h.ctx, catalog.Server{})[0])
		if err := h.local.up.Ready(h.ctx); err != nil {
			return fmt.Errorf("the local tools don't work: %w", err)
		}
	}
	_, err := h.Apply(h.o.Servers)
	return err
}

// Apply makes servers the configured ones (C9): a server whose Key is the same stays as it is, with its calls; one with
// another Key is ended and started anew; one that isn't there any more is ended, its tools are gone at once; a new one is
// started in the background. It returns when what had to end has ended. An error, such as for a name that is used twice,
// changes nothing.
func (h *Host) Apply(list []Server) (Change, error) {
	wanted := make(map[string]Server, len(list))
	for _, s := range list {
		if _, twice := wanted[s.Name]; twice || s.Name == "" {
			return Change{}, fmt.Errorf("the server name %q is empty or used twice", s.Name)
		}
		wanted[s.Name] = s
	}
	h.servers.applying.Lock()
	defer h.servers.applying.Unlock()
	if h.servers.closed {
		return Change{}, ErrClosed
	}
	next := maps.Clone(h.servers.all())
	var c Change
	over := map[*hosted]string{}
	var fresh []Server
	for name, old := range next {
		s, stays := wanted[name]
		switch {
		case !stays:
			c.Removed, over[old] = append(c.Removed, name), "removed from the configuration"
		case s.key() != old.key():
			c.Changed, over[old] = append(c.Changed, name), "its entry changed"
		}
	}
	for _, s := range list { // in the order of the configuration, in which they start
		if old, was := next[s.Name]; was && over[old] == "" {
			continue
		} else if !was {
			c.Added = append(c.Added, s.Name)
		}
		fresh = append(fresh, s)
	}
	h.replace(next, over, fresh)
	for _, names := range [][]string{c.Added, c.Removed, c.Changed} {
		slices.Sort(names)
	}
	return c, nil
}

func (s Server) key() string {
	if s.Key == "" {
		return s.Name
	}
	return s.Key
}

// replace ends what is over, and starts what is fresh once that is gone: both may want the same port.
func (h *Host) replace(next map[string]*hosted, over map[*hosted]string, fresh []Server) {
	for old := range over {
		delete(next, old.Name)
	}
	left := next // a map that is stored isn't changed any more, nor is the variable that holds it
	h.servers.now.Store(&left)
	var wg sync.WaitGroup
	for old, why := range over {
		h.unlist(old)
		wg.Go(func() { old.up.Close(why) })
	}
	wg.Wait()
	for old := range over {
		h.servers.catalog.Forget(old.key())
		h.servers.forgetful.Forget(old.key())
	}
	if len(fresh) == 0 {
		return
	}
	shelves := h.servers.shelves(h.ctx, fresh)
	all := maps.Clone(left)
	started := make([]*hosted, len(fresh))
	for i, s := range fresh {
		started[i] = h.host(s, shelves[i])
		started[i].grace = time.Now().Add(settleTime)
		all[s.Name] = started[i]
	}
	h.servers.now.Store(&all)
	h.show(started...)
	for _, s := range started {
		if !h.o.Lazy {
			s.up.Start()
		}
	}
}

// shelves are the places of what servers offer, in their order; of all that the store knows, read at once.
func (s *servers) shelves(ctx context.Context, list []Server) []*catalog.Shelf {
	out := make([]*catalog.Shelf, len(list))
	for _, c := range []*catalog.Catalog{s.catalog, s.forgetful} {
		var asked []catalog.Server
		var at []int
		for i, server := range list {
			if (server.Key == "") == (c == s.forgetful) {
				asked = append(asked, catalog.Server{Name: server.Name, Key: server.key(), TTL: server.lifecycle().ListTTL})
				at = append(at, i)
			}
		}
		for n, shelf := range c.Shelves(ctx, asked...) {
			out[at[n]] = shelf
		}
	}
	return out
}

func (s Server) lifecycle() Lifecycle {
	if s.Lifecycle == nil {
		return lifecycle.Default()
	}
	return *s.Lifecycle
}

func (h *Host) host(s Server, shelf *catalog.Shelf) *hosted {
	slots := h.servers.remote
	switch {
	case s.Name == "":
		slots = nil
	case s.Kind == "stdio":
		slots = h.servers.stdio
	}
	s.Entry = cmp.Or(s.Entry, s.key())
	hs := &hosted{Server: s, shelf: shelf, owner: router.Origin{Server: s.Name, Trusted: s.TrustHints, Builtin: s.Name == ""}}
	refresh := func() { h.show(hs) }
	hs.up = upstream.New(h.ctx, upstream.Options{
		Name: s.Name, Transport: s.Transport, Fallback: s.Fallback, Kind: s.Kind, Info: h.o.Info, Lifecycle: s.lifecycle(),
		Slots: slots, Shelf: shelf, OnOffer: refresh, OnState: refresh, Record: h.record, Redact: h.o.Redact, Woke: h.o.Woke,
	})
	return hs
}

// show gives the router what servers offer now: nothing of one that was given up, else what is on its shelf. It may be
// called at any time, and changes nothing where nothing changed.
func (h *Host) show(all ...*hosted) {
	tell := false
	for _, s := range all {
		tell = h.showOne(s) || tell
	}
	if tell {
		h.tellChanged()
	}
}

func (h *Host) showOne(s *hosted) (changed bool) {
	s.showing.Lock()
	defer s.showing.Unlock()
	entry, failed := s.shelf.Entry(), s.up.State() == upstream.Failed
	if entry.Tools.Listed.IsZero() || s.Name != "" && h.servers.all()[s.Name] != s {
		return false // nothing is known, or another one bears its name now
	}
	now := told{any: !failed, resources: len(entry.Resources.Items), prompts: len(entry.Prompts.Items)}
	if !failed {
		now.tools = entry.Tools.Items
	}
	before := s.told
	s.told = now
	var c router.Change
	if before.any != now.any || !sameSlice(before.tools, now.tools) {
		c = h.router.Set(s.owner, now.tools)
		changed = len(c.Added)+len(c.Removed)+len(c.Changed) > 0
	}
	if s.Name != "" && !failed && (changed || !before.any || before.resources != now.resources || before.prompts != now.prompts) {
		h.record(event.ServerCatalog{
			Server: s.Name, Tools: len(now.tools), Resources: now.resources, Prompts: now.prompts,
			Added: some(c.Added), Removed: some(c.Removed), Changed: some(c.Changed), Hash: catalogHash(now.tools),
		})
	}
	return changed
}

// sameSlice compares by place: what is on a shelf is replaced, never changed.
func sameSlice(a, b []mcp.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// unlist takes a server's tools out of the router.
func (h *Host) unlist(s *hosted) {
	s.showing.Lock()
	c := h.router.Set(s.owner, nil)
	s.told = told{}
	s.showing.Unlock()
	if len(c.Removed) > 0 {
		h.tellChanged()
	}
}

// tellChanged tells the sessions that the table is another one.
func (h *Host) tellChanged() {
	h.mu.Lock()
	var tell []func()
	for _, f := range h.changed {
		tell = append(tell, f)
	}
	h.mu.Unlock()
	for _, f := range tell {
		f()
	}
}

// Restart ends one server's connections and process, whatever its state, forgets its failures, and starts it. Calls in
// flight fail. It waits for the outcome; the error is a *fault.Error, of kind NotFound for an unknown name.
func (h *Host) Restart(ctx context.Context, name string) error {
	s := h.servers.all()[name]
	if s == nil {
		return &fault.Error{Kind: fault.NotFound, Server: name, Detail: fmt.Sprintf("there is no server %q", name)}
	}
	return s.up.Restart(ctx)
}

// Nudge says that the machine woke up or its network changed (C5): remote connections are asked whether they still live,
// and remote servers that were given up for the time being are dialled once. It waits for nothing.
func (h *Host) Nudge() {
	for _, s := range h.servers.all() {
		s.up.Nudge()
	}
}

// closeServers ends all servers at once.
func (h *Host) closeServers() {
	h.servers.applying.Lock()
	h.servers.closed = true
	all := h.servers.all()
	h.servers.applying.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { s.up.Close("closed") })
	}
	if h.local != nil {
		wg.Go(func() { h.local.up.Close("closed") })
	}
	wg.Wait()
	h.servers.catalog.Close()
}

// storeFailed tells of trouble with what is remembered of servers. It costs nothing but time at the next start.
func (h *Host) storeFailed(err error) {
	h.record(event.ServerLog{Server: "usher", Level: "warning", Logger: "catalog", Message: h.redactedCut(err.Error())})
}

// some bounds a list of names that a server chose.
func some(names []string) []string { return names[:min(len(names), 100)] }

func catalogHash(tools []mcp.Tool) string {
	raw := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, t.Raw...)
	}
	return mcp.Digest(append(raw, ']'))
}
