package usher

import (
	"cmp"
	"sync"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
)

// ran are the processes of a server, and what they run. The zero value knows of none.
type ran struct {
	mu    sync.Mutex
	names map[int]string // by process id
	last  string         // of the process that a call went to last
	main  int            // the shared connection's process, then
}

const (
	// unknownPackage stands for what a process runs where nobody can tell: an answer that was for a known one isn't for it.
	unknownPackage = "unknown"
	maxRan         = 64 // that are remembered; what is forgotten is looked at once more
)

// pack is the package that a decision goes by: of the process that a call went to last, unless the shared connection has
// a new one since; empty where that isn't known, as before the first start. A call that leaves is held against what its
// own process runs.
func (s *hosted) pack() string {
	if s.Package == nil {
		return ""
	}
	main := s.up.PID()
	s.ran.mu.Lock()
	last, then := s.ran.last, s.ran.main
	s.ran.mu.Unlock()
	if main == 0 || last != "" && then == main {
		return last
	}
	return s.packOf(main)
}

// packOf is the package that one process runs.
func (s *hosted) packOf(pid int) string {
	s.ran.mu.Lock()
	name := s.ran.names[pid]
	s.ran.mu.Unlock()
	if name == "" {
		name = cmp.Or(s.Package(pid), unknownPackage)
	}
	main := s.up.PID()
	s.ran.mu.Lock()
	defer s.ran.mu.Unlock()
	if s.ran.names == nil || len(s.ran.names) >= maxRan {
		s.ran.names = map[int]string{}
	}
	s.ran.names[pid], s.ran.last, s.ran.main = name, name, main
	return name
}

// keep makes an answer last that reaches further than this call, once the server is there and it is known what it runs.
func (c *call) keep() {
	if c.lasts == nil {
		return
	}
	l := c.lasts
	c.lasts = nil
	l.Package = c.pack
	s := c.s
	s.mu.Lock()
	s.grants[l.Target] = bond{l.Entry, l.Definition, l.Package}
	s.mu.Unlock()
	if l.always {
		c.remember(l.Grant)
	}
}

// lasting is an answer for more than one call.
type lasting struct {
	permission.Grant
	always bool
}

// samePackage refuses a call that was let in by an answer, once it is seen that the process that it goes to runs another
// package than that was for.
func (c *call) samePackage() error {
	if c.server.Package == nil {
		return nil
	}
	c.pack = unknownPackage
	if c.pid != 0 {
		c.pack = c.server.packOf(c.pid)
	}
	if c.bound != "" && c.pack != c.bound {
		return &fault.Error{
			Kind: fault.ApprovalRequired, Detail: "its package is " + c.pack + " now, and it was allowed for " + c.bound, Hint: "Call again: it is decided anew",
		}
	}
	return nil
}
