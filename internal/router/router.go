package router

import (
	"sync"
	"sync/atomic"

	"github.com/usher-mcp/usher/mcp"
)

// Router holds the current table. Readers never wait; the table they hold stays as it was.
type Router struct {
	mu      sync.Mutex
	servers map[string][]*Tool
	table   atomic.Pointer[Table]
}

// New makes a Router without any tools.
func New() *Router {
	r := &Router{servers: map[string][]*Tool{}}
	r.table.Store(newTable(nil))
	return r
}

// Table returns the current table.
func (r *Router) Table() *Table { return r.table.Load() }

// Origin says whose tools are set.
type Origin struct {
	Server  string // empty: Usher's own
	Trusted bool   // the user trusts the server's hints about its tools
	Builtin bool   // the tools run without a question
}

// Change is what a new list of tools changed, as names of the server's own.
type Change struct{ Added, Removed, Changed []string }

// Set replaces the tools of one server; none takes it out. Of two tools with one name the first stays.
func (r *Router) Set(o Origin, defs []mcp.Tool) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := map[string]string{}
	for _, t := range r.servers[o.Server] {
		before[t.Tool] = t.Hash
	}
	var c Change
	tools := make([]*Tool, 0, len(defs))
	seen := make(map[string]bool, len(defs))
	for _, def := range defs {
		if seen[def.Name] {
			continue
		}
		seen[def.Name] = true
		t := newTool(o.Server, def, o.Trusted, o.Builtin)
		tools = append(tools, t)
		switch hash, was := before[t.Tool]; {
		case !was:
			c.Added = append(c.Added, t.Tool)
		case hash != t.Hash:
			c.Changed = append(c.Changed, t.Tool)
		}
		delete(before, t.Tool)
	}
	for _, t := range r.servers[o.Server] {
		if _, gone := before[t.Tool]; gone {
			c.Removed = append(c.Removed, t.Tool)
		}
	}
	r.servers[o.Server] = tools
	r.rebuild()
	return c
}

// rebuild copies the tools, since a table gives them names that depend on their neighbours.
func (r *Router) rebuild() {
	var all []*Tool
	for _, tools := range r.servers {
		for _, t := range tools {
			c := *t
			c.listing = onceListing(&c)
			all = append(all, &c)
		}
	}
	r.table.Store(newTable(all))
}
