package gateway

import (
	"container/list"
	"crypto/rand"
	"sync"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// session is one legacy session over HTTP. It has a client's calls in flight, so that the client can cancel them.
type session struct {
	agent
	id string

	callsMu sync.Mutex
	calls   map[mcp.ID]*limited

	// Guarded by sessions.mu.
	uses  int
	since time.Time     // when it became idle
	place *list.Element // among the idle ones; nil while it is used
}

// call registers a request that runs. It reports false if one with this id runs already.
func (s *session) call(id mcp.ID, c *limited) bool {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if s.calls == nil {
		s.calls = map[mcp.ID]*limited{}
	}
	if s.calls[id] != nil {
		return false
	}
	s.calls[id] = c
	return true
}

func (s *session) answered(id mcp.ID) {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	delete(s.calls, id)
}

// cancel ends the context of a request; the request is answered as cancelled, since its POST waits for an answer.
func (s *session) cancel(id mcp.ID) {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if c := s.calls[id]; c != nil {
		c.stop()
	}
}

func (s *session) cancelAll() {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	for _, c := range s.calls {
		c.stop()
	}
}

// sessions are the legacy sessions over HTTP, bounded in number and in the time that they may be idle: clients forget
// to end them (case-019, case-035). One timer serves all.
type sessions struct {
	limit int
	ttl   time.Duration

	mu     sync.Mutex
	byID   map[string]*session
	idle   list.List // of *session, the longest idle one first
	timer  *time.Timer
	armed  bool
	closed bool
}

func newSessions(limit int, ttl time.Duration) *sessions {
	return &sessions{limit: limit, ttl: ttl, byID: map[string]*session{}}
}

// add takes s in, idle, under an id that can't be guessed (130 bits). Where there is no room it returns the session
// that had to go, which the caller ends; ok is false when all are in use.
func (t *sessions) add(s *session) (evicted *session, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	if len(t.byID) >= t.limit {
		longest := t.idle.Front()
		if longest == nil {
			return nil, false
		}
		evicted = longest.Value.(*session)
		t.drop(evicted)
	}
	s.id = rand.Text()
	t.byID[s.id] = s
	t.rest(s)
	return evicted, true
}

// take returns the session for use; release must follow. Nil: there is none.
func (t *sessions) take(id string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil {
		return nil
	}
	s.uses++
	if s.place != nil {
		t.idle.Remove(s.place)
		s.place = nil
	}
	return s
}

func (t *sessions) release(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.uses--; s.uses == 0 && t.byID[s.id] == s {
		t.rest(s)
	}
}

// remove forgets a session, which the caller ends. It reports false if somebody else has done so.
func (t *sessions) remove(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.byID[s.id] == s
	if known {
		t.drop(s)
	}
	return known
}

// rest needs t.mu, as the next two do.
func (t *sessions) rest(s *session) {
	s.since = time.Now()
	s.place = t.idle.PushBack(s)
	t.arm()
}

func (t *sessions) drop(s *session) {
	delete(t.byID, s.id)
	if s.place != nil {
		t.idle.Remove(s.place)
		s.place = nil
	}
}

// arm makes the timer go off when the longest idle session expires, or earlier.
func (t *sessions) arm() {
	longest := t.idle.Front()
	if t.armed || longest == nil || t.closed {
		return
	}
	wait := time.Until(longest.Value.(*session).since.Add(t.ttl))
	if t.timer == nil {
		t.timer = time.AfterFunc(wait, t.expire)
	} else {
		t.timer.Reset(wait)
	}
	t.armed = true
}

func (t *sessions) expire() {
	t.mu.Lock()
	t.armed = false
	var expired []*session
	for e := t.idle.Front(); e != nil; e = t.idle.Front() {
		s := e.Value.(*session)
		if time.Since(s.since) < t.ttl {
			break
		}
		t.drop(s)
		expired = append(expired, s)
	}
	t.arm()
	t.mu.Unlock()
	for _, s := range expired {
		s.end("idle")
	}
}

// close forgets all sessions and returns them. None can be added any more.
func (t *sessions) close() []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	all := make([]*session, 0, len(t.byID))
	for _, s := range t.byID {
		t.drop(s)
		all = append(all, s)
	}
	return all
}
