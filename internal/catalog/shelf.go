package catalog

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
)

// Shelf is the place of one server in a Catalog. All methods are safe for concurrent use, and none waits for a disk.
type Shelf struct {
	catalog *Catalog
	server  Server // its TTL is in ttl
	ttl     atomic.Int64
	entry   atomic.Pointer[Entry]

	mu      sync.Mutex    // held by whoever makes the next entry
	n       uint64        // counts moments
	changed [kinds]uint64 // when the list was last said, or supposed, to have changed

	// The writer's, guarded by mu too.
	saved   time.Time // when the Store got the entry; zero: it hasn't it
	refused bool      // it was reported that the entry can't be written
}

func newShelf(c *Catalog, server Server) *Shelf {
	s := &Shelf{catalog: c, server: server}
	s.ttl.Store(int64(server.TTL))
	s.entry.Store(&Entry{Server: server.Name, Key: server.Key})
	return s
}

// Entry returns what is known now; never nil.
func (s *Shelf) Entry() *Entry { return s.entry.Load() }

// Moment is when a listing began: what the server says to have changed later isn't in it.
type Moment struct {
	at time.Time
	n  uint64
}

// Begin is called before the first page is asked for. Of several listings the one that began last counts.
func (s *Shelf) Begin() Moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return Moment{at: clock(), n: s.n}
}

// clock tells the wall's time: the monotonic one stands still while a machine sleeps, but lists grow old.
func clock() time.Time { return time.Now().Round(0) }

// Changed tells that lists may be others now: the server said so, or notifications may have been missed. Listings that
// are under way don't count as having seen it.
func (s *Shelf) Changed(which ...Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	for _, k := range which {
		if k < kinds {
			s.changed[k] = s.n
		}
	}
}

// Greet takes what the handshake of a new connection told; all lists must then be asked for anew. It is for the first
// connection after a time without one, not for each of a pool.
func (s *Shelf) Greet(info client.Info) {
	s.Changed(Tools, Resources, Templates, Prompts)
	s.update(func(e *Entry) (write bool) {
		same := e.Era == info.Era && e.Revision == info.Revision && e.Instructions == info.Instructions &&
			bytes.Equal(e.Capabilities, info.Capabilities) && bytes.Equal(e.ServerInfo, info.ServerInfo)
		e.Era, e.Revision, e.Instructions = info.Era, info.Revision, info.Instructions
		e.Capabilities, e.ServerInfo = info.Capabilities, info.ServerInfo
		return !same
	})
}

// SetTools takes what a listing brought, and its error. After an error the list from before stays, if there is one; the
// new entry then says why. It reports whether Items are others than before; another order alone is no change, and the
// order from before stays.
func (s *Shelf) SetTools(began Moment, l client.List[mcp.Tool], err error) (changed bool) {
	return set(s, began, toolFacet(), l, err)
}

// SetResources is SetTools for resources.
func (s *Shelf) SetResources(began Moment, l client.List[mcp.Resource], err error) (changed bool) {
	return set(s, began, resourceFacet(), l, err)
}

// SetTemplates is SetTools for resource templates.
func (s *Shelf) SetTemplates(began Moment, l client.List[mcp.ResourceTemplate], err error) (changed bool) {
	return set(s, began, templateFacet(), l, err)
}

// SetPrompts is SetTools for prompts.
func (s *Shelf) SetPrompts(began Moment, l client.List[mcp.Prompt], err error) (changed bool) {
	return set(s, began, promptFacet(), l, err)
}

func set[T any](s *Shelf, began Moment, f facet[T], l client.List[T], err error) (changed bool) {
	s.update(func(e *Entry) (write bool) {
		list := f.list(e)
		before := list.Listing
		changed = list.take(began, l, err, f.raw)
		return changed || list.worthWriting(before)
	})
	return changed
}

// worthWriting reports whether more changed than the time of the listing.
func (l Listing) worthWriting(before Listing) bool {
	return l.Complete != before.Complete || l.Private != before.Private || l.TTL != before.TTL || l.Listed.IsZero() != before.Listed.IsZero()
}

// update makes the next entry out of a copy of the current one.
func (s *Shelf) update(change func(*Entry) (write bool)) {
	s.mu.Lock()
	next := *s.entry.Load()
	write := change(&next)
	s.entry.Store(&next)
	if !write && clock().Sub(s.saved).Abs() > saveAgain {
		write = true
	}
	s.mu.Unlock()
	if write {
		s.catalog.write(s)
	}
}

// saveAgain is how often an entry that doesn't change is written, so that a Store can tell what is still in use.
const saveAgain = 24 * time.Hour
