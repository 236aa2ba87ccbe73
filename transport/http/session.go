package http

import (
	"errors"
	nethttp "net/http"
	"sync"

	"github.com/usher-mcp/usher/mcp"
)

const maxSessionID = 1024

// session is what a legacy server ties requests together with. It may be used by many goroutines at once.
type session struct {
	mu       sync.Mutex
	id       string
	over     bool   // the server has forgotten it
	revision string // the last that a request bore, for the messages that bring none
}

func (s *session) get() (id, revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, s.revision
}

func (s *session) speaks(revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = revision
}

// take remembers the id that came with the answer to initialize; none is an id too: the server has no sessions.
func (s *session) take(h nethttp.Header) error {
	id := h.Get(mcp.HeaderSession)
	if id != "" && (len(id) > maxSessionID || !isVisible(id)) {
		return errors.New("its session id is longer than 1024 bytes or holds more than visible ASCII")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.over = id, false
	return nil
}

// drop forgets id. A newer one stays: another goroutine may have shaken hands again meanwhile.
func (s *session) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == id {
		s.id, s.over = "", true
	}
}

// isOver reports whether a session has ended and no other has begun.
func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
