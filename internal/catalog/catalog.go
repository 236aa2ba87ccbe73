package catalog

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Options configure a Catalog. The zero value works, and keeps nothing on a disk.
type Options struct {
	Store Store // nil: what is known ends with the process

	// Redact takes secrets out of text, as event logs need it. An entry in which it finds one isn't written: a server may
	// say in a tool's description what it was told in confidence. Nil: no secrets are known.
	Redact func([]byte) []byte

	// Report is told, in words for a person, what couldn't be read or written; a Store that fails is told of once, until
	// it works again. It runs on the goroutine of the writer, or of Shelves, and must not call Close. Nil: nobody is told.
	Report func(error)
}

// Catalog holds what is known of all servers. All methods are safe for concurrent use.
type Catalog struct {
	o Options

	mu      sync.Mutex
	shelves map[identity]*Shelf
	pending map[identity]*Shelf // not in the Store as they are now
	closed  bool

	ctx     context.Context // of what the writer does
	cancel  context.CancelFunc
	wake    chan struct{}
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when the writer has ended
	failing bool          // the writer's own
}

// identity is what no two shelves share. The key alone should do, but a list that is another server's is too bad a mistake.
type identity struct{ name, key string }

func (s Server) identity() identity { return identity{s.Name, s.Key} }

// New makes an empty Catalog. With a Store it has one goroutine, which writes; Close ends it.
func New(o Options) *Catalog {
	if o.Report == nil {
		o.Report = func(error) {}
	}
	c := &Catalog{
		o: o, shelves: make(map[identity]*Shelf), pending: make(map[identity]*Shelf),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if o.Store == nil {
		close(c.done)
	} else {
		go c.writer()
	}
	return c
}

// Shelves returns the shelves of servers, in their order; the same name and key get the same shelf. What the Store knows of
// those that are new here is read at once, and marked as cached. A Store that can't be read costs only that: the
// shelves are empty then. ctx bounds the reading.
func (c *Catalog) Shelves(ctx context.Context, servers ...Server) []*Shelf {
	found := c.read(ctx, c.unknown(servers))
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Shelf, len(servers))
	for i, server := range servers {
		s := c.shelves[server.identity()]
		if s == nil {
			if s = found[server.identity()]; s == nil {
				s = newShelf(c, server)
			}
			c.shelves[server.identity()] = s
		}
		s.ttl.Store(int64(server.TTL))
		out[i] = s
	}
	return out
}

// unknown returns the servers that have no shelf yet.
func (c *Catalog) unknown(servers []Server) []Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Server
	for _, server := range servers {
		if c.shelves[server.identity()] == nil {
			out = append(out, server)
		}
	}
	return out
}

// read asks the Store for what it knows of servers.
func (c *Catalog) read(ctx context.Context, servers []Server) map[identity]*Shelf {
	if c.o.Store == nil || len(servers) == 0 {
		return nil
	}
	keys := make([]string, len(servers))
	for i, server := range servers {
		keys[i] = server.Key
	}
	records, err := c.o.Store.Load(ctx, keys)
	if err != nil {
		c.o.Report(fmt.Errorf("what servers offered before this start can't be read: %w; they are asked anew", err))
	}
	byKey := make(map[string]Record, len(records))
	for _, r := range records {
		byKey[r.Key] = r
	}
	out := make(map[identity]*Shelf, len(records))
	for _, server := range servers {
		r, ok := byKey[server.Key]
		if !ok {
			continue
		}
		e, err := decode(r.Data, server)
		if err != nil {
			c.o.Report(fmt.Errorf("what the server %q offered before this start can't be read: %w; it is asked anew", server.Name, err))
			continue
		}
		s := newShelf(c, server)
		s.entry.Store(e)
		s.saved = r.Saved
		out[server.identity()] = s
	}
	return out
}

// Forget takes a server that isn't configured any more out of memory. What the Store hasn't got yet is written once, if
// that is possible; the Store keeps what it has.
func (c *Catalog) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.shelves, func(id identity, _ *Shelf) bool { return id.key == key })
}

// Close writes what isn't written yet, for at most a second and what the Store takes to notice it. What is set
// afterwards stays in memory. It is idempotent. The Store stays open.
func (c *Catalog) Close() {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		close(c.closing)
	}
	stop := time.AfterFunc(closeTime, c.cancel)
	<-c.done
	stop.Stop()
	c.cancel()
}
