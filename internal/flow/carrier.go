package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Carrier names what keeps what it was given, for another session to find.
type Carrier struct{ Kind, Name string }

// Server is a server as the configuration calls it; the empty name stands for usher's own tools.
func Server(name string) Carrier { return Carrier{"server", name} }

// source is how a mark names it.
func (c Carrier) source() string {
	switch {
	case c == Server(""):
		return Local
	case c.Kind == "server":
		return cut(c.Name)
	}
	return cut(c.Kind + " " + c.Name)
}

func (c Carrier) key() string { return bounded(c.Kind + ":" + c.Name) }

// clientKey can't be one of a Carrier's. The parts are quoted, since either may hold anything.
func clientKey(principal, client string) string {
	return bounded("client:" + strconv.Quote(principal) + strconv.Quote(client))
}

// bounded replaces a long key by one that is as good.
func bounded(key string) string {
	key = strings.ToValidUTF8(key, "\uFFFD")
	if len(key) <= MaxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	kind, _, _ := strings.Cut(key, ":")
	return kind + ":" + hex.EncodeToString(sum[:])
}

func cut(source string) string {
	if len(source) > MaxSource {
		source = source[:MaxSource]
	}
	return strings.ToValidUTF8(source, "")
}

// place is what this process knows of one key of the Store.
type place struct {
	book    *Book
	key     string
	version atomic.Uint64 // of known; it changes after known does

	stamp  atomic.Uint64 // of the Store when it was last read
	loaded atomic.Bool

	mu    sync.Mutex
	known map[string]known // by source
	users int              // sessions of this client; guarded by book.mu
}

// known is a mark, and how much of it the Store has.
type known struct {
	Mark
	kept   Labels
	keptAt time.Time
}

// refresh reads the Store anew if that may have changed. It reports whether what is known is all there is.
func (p *place) refresh() (whole bool) {
	s := p.book.o.Stamper
	var now uint64
	if s != nil {
		now = s.Stamp() // before it is read, lest what is added meanwhile be missed
		if p.loaded.Load() && p.stamp.Load() == now {
			return true
		}
	}
	return p.load(now)
}

func (p *place) load(stamp uint64) bool {
	ctx, cancel := context.WithTimeout(p.book.ctx, storeTime)
	defer cancel()
	marks, err := p.book.o.Store.Load(ctx, p.key)
	if err != nil {
		p.book.o.Report(err)
		return false
	}
	p.mu.Lock()
	changed := false
	for _, m := range marks {
		k := p.known[m.Source]
		changed = changed || !k.Labels.Has(m.Labels) || m.At.After(k.At)
		k.join(m)
		k.kept |= m.Labels
		k.keptAt = later(k.keptAt, m.At)
		p.known[m.Source] = k
	}
	p.mu.Unlock()
	if changed {
		p.version.Add(1)
	}
	p.stamp.Store(stamp)
	p.loaded.Store(true)
	return true
}

func (k *known) join(m Mark) {
	k.Source = m.Source
	k.Labels |= m.Labels
	k.At = later(k.At, m.At)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// add makes marks known here, and then to the Store what it doesn't have: labels, or times that are older there than
// fresh. When it returns without an error, the Store has all of them, also those that another goroutine is just adding.
func (p *place) add(marks []Mark, fresh time.Duration) error {
	var missing []Mark
	changed := false
	p.mu.Lock()
	for _, m := range marks {
		k := p.known[m.Source]
		news := !k.Labels.Has(m.Labels)
		changed = changed || news || m.At.Sub(k.At) > staleness
		k.join(m)
		p.known[m.Source] = k
		if !k.kept.Has(k.Labels) || k.At.Sub(k.keptAt) > fresh {
			missing = append(missing, k.Mark)
		}
	}
	p.mu.Unlock()
	if changed {
		p.version.Add(1)
	}
	if len(missing) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.book.ctx, storeTime)
	defer cancel()
	if err := p.book.o.Store.Add(ctx, p.key, missing); err != nil {
		p.book.o.Report(err)
		return err
	}
	p.keep(missing)
	return nil
}

func (p *place) keep(marks []Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range marks {
		k := p.known[m.Source]
		k.kept |= m.Labels
		k.keptAt = later(k.keptAt, m.At)
		p.known[m.Source] = k
	}
}

// marks are those that were here at a time or later.
func (p *place) marks(since time.Time) []Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Mark
	for _, k := range p.known {
		if !k.At.Before(since) {
			all = append(all, k.Mark)
		}
	}
	return all
}

// kept reports whether the Store has all that is known here, so that it may be forgotten.
func (p *place) kept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.known {
		if !k.kept.Has(k.Labels) {
			return false
		}
	}
	return true
}
