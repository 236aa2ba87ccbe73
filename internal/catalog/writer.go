package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	gather    = 100 * time.Millisecond // changes that come meanwhile are written together
	saveTime  = 10 * time.Second       // for one write
	closeTime = time.Second            // for all that Close writes
	batch     = 4 << 20                // bytes that are written together, and so held at once; a larger record is alone
)

// write has the writer take s's entry to the Store. It doesn't wait.
func (c *Catalog) write(s *Shelf) {
	if c.o.Store == nil || !c.pend(s) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (c *Catalog) pend(s *Shelf) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := s.server.identity()
	if now := c.shelves[id]; c.closed || now != nil && now != s { // it was forgotten, and has a successor
		return false
	}
	c.pending[id] = s
	return true
}

// writer is the one goroutine that writes. What couldn't be written is tried again with the next change, and at the end.
func (c *Catalog) writer() {
	defer close(c.done)
	for {
		select {
		case <-c.closing:
			c.flush()
			return
		case <-c.wake:
		}
		select {
		case <-c.closing:
		case <-time.After(gather):
			c.flush()
		}
	}
}

// flush writes what is pending.
func (c *Catalog) flush() {
	c.mu.Lock()
	pending := c.pending
	c.pending = make(map[identity]*Shelf)
	c.mu.Unlock()
	var now draft
	for _, s := range pending {
		r, ok := c.record(s)
		if !ok {
			continue
		}
		if now.bytes+len(r.Data) > batch {
			c.save(now)
			now = draft{}
		}
		now.shelves, now.records, now.bytes = append(now.shelves, s), append(now.records, r), now.bytes+len(r.Data)
	}
	c.save(now)
}

// draft is what is written together.
type draft struct {
	shelves []*Shelf
	records []Record
	bytes   int
}

func (c *Catalog) save(d draft) {
	if len(d.records) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, saveTime)
	defer cancel()
	if err := c.o.Store.Save(ctx, d.records...); err != nil {
		c.unsaved(d, err)
		return
	}
	c.failing = false
	for i, s := range d.shelves {
		s.mu.Lock()
		s.saved = d.records[i].Saved
		s.mu.Unlock()
	}
}

func (c *Catalog) unsaved(d draft, err error) {
	c.mu.Lock()
	for _, s := range d.shelves {
		if id := s.server.identity(); c.shelves[id] == s && c.pending[id] == nil { // else forgotten, or pending again
			c.pending[id] = s
		}
	}
	c.mu.Unlock()
	if !c.failing {
		c.failing = true
		c.o.Report(fmt.Errorf("what servers offer can't be kept for the next start: %w; that start will wait for them", err))
	}
}

// record makes the record of a shelf as it is now. It reports false for what must not be written, and tells of that once.
func (c *Catalog) record(s *Shelf) (Record, bool) {
	e := s.Entry()
	data, err := encode(e)
	if err == nil && c.o.Redact != nil && string(c.o.Redact(data)) != string(data) {
		err = errors.New("the server sent a text that has a secret of the configuration in it")
	}
	s.mu.Lock()
	report := err != nil && !s.refused
	s.refused = err != nil
	s.mu.Unlock()
	if report {
		c.o.Report(fmt.Errorf("what the server %q offers isn't kept for the next start: %w", e.Server, err))
	}
	return Record{Key: e.Key, Server: e.Server, Data: data, Saved: clock()}, err == nil
}
