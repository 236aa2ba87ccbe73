package usher

import (
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
)

// ran is the process of a server that served last, and its package.
type ran struct {
	pid  int
	name string
}

// pack is the package that the server's process runs, else the one that ran last; empty where that isn't known, as before
// the first start.
func (s *hosted) pack() string {
	last := s.ran.Load()
	if s.Package == nil {
		return ""
	}
	pid := s.up.PID()
	if last != nil && (pid == 0 || last.pid == pid) {
		return last.name
	}
	if pid == 0 {
		return ""
	}
	now := &ran{pid, s.Package(pid)}
	s.ran.Store(now)
	return now.name
}

// keep makes an answer last that reaches further than this call, once the server is there and it is known what it runs.
func (c *call) keep() {
	if c.lasts == nil {
		return
	}
	l := c.lasts
	c.lasts = nil
	l.Package = c.server.pack()
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

// samePackage refuses a call that was let in by an answer of before, once it is seen that its server runs another package
// than that was for.
func (c *call) samePackage() error {
	if c.bound == "" {
		return nil
	}
	if now := c.server.pack(); now != c.bound {
		return &fault.Error{
			Kind: fault.ApprovalRequired, Detail: "its package is " + now + " now, and it was allowed for " + c.bound, Hint: "Call again: it is decided anew",
		}
	}
	return nil
}
