package flow

import (
	"context"
	"math"
	"sync"
	"time"
)

const (
	storeTime = 5 * time.Second // for one answer of the Store
	maxPlaces = 4096            // that are remembered though nobody uses them; the Store has them all
	// staleness is how old the times in the Store may be, so that not each call writes there. What was handed on a little
	// later than it had to be was handed on.
	staleness = time.Minute
	never     = time.Duration(math.MaxInt64)
	// DefaultInherit is how long a client hands on what its sessions took in.
	DefaultInherit = time.Hour
)

// Options are what a Book is made of.
type Options struct {
	Store   Store   // nil: what outlives a session ends with the process
	Stamper Stamper // default Store, if it is one
	// Inherit is how long after a client's session last took something in a session of the same client still begins with
	// that. It is asked for often, and must be fast. Zero or less: sessions share nothing. Nil: DefaultInherit.
	Inherit func() time.Duration
	Report  func(error)      // is told when the Store fails; it must not block. Nil: nobody is told
	Now     func() time.Time // default time.Now
}

// Book is what the sessions of one host took in. It is safe for concurrent use.
type Book struct {
	ctx context.Context
	o   Options

	mu     sync.Mutex
	places map[string]*place
	open   map[*place]map[*Session]struct{} // by client
}

// New makes a Book. It starts nothing; ctx bounds its use of the Store.
func New(ctx context.Context, o Options) *Book {
	if o.Store == nil {
		o.Store = NewMemory()
	}
	if o.Stamper == nil {
		o.Stamper, _ = o.Store.(Stamper)
	}
	if o.Inherit == nil {
		o.Inherit = func() time.Duration { return DefaultInherit }
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Book{ctx: ctx, o: o, places: map[string]*place{}, open: map[*place]map[*Session]struct{}{}}
}

// place finds or makes one. use counts a session that has it as its client's; it stays until as many have let go.
func (b *Book) place(key string, use int) *place {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.places[key]
	if p == nil {
		if len(b.places) >= maxPlaces {
			b.forget()
		}
		p = &place{book: b, key: key, known: map[string]known{}}
		b.places[key] = p
	}
	p.users += use
	return p
}

// forget lets go of places that the Store has whole. A goroutine that still holds one adds to the Store, too.
func (b *Book) forget() {
	for key, p := range b.places {
		if p.users == 0 && p.kept() {
			delete(b.places, key)
		}
	}
}
