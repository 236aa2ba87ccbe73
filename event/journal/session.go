package journal

import (
	"cmp"
	"slices"

	"github.com/usher-mcp/usher/event"
)

// session is the head of one session's chain and what is open in it. It is the writer's.
type session struct {
	id      string
	seq     int64
	hash    [event.HashLen]byte
	ended   bool
	changed bool // since the last checkpoint
	calls   map[string]call
	opened  int // calls so far; orders them
}

// call is a call that was requested and has not ended.
type call struct {
	tool   string
	server string // set while the transport has it
	nth    int
}

// line appends the line of the session's next event to dst.
func (s *session) line(dst, stamp []byte, n note, data []byte) []byte {
	var prev []byte
	if s.seq > 0 {
		prev = s.hash[:]
	}
	dst, hash := event.AppendLine(dst, s.seq+1, s.id, stamp, n.kind, data, prev)
	s.advance(s.seq+1, hash, n)
	return dst
}

// advance makes an event the head.
func (s *session) advance(seq int64, hash [event.HashLen]byte, n note) {
	s.seq, s.hash, s.changed = seq, hash, true
	switch n.what {
	case sessionEnded:
		s.ended, s.calls = true, nil
	case callRequested:
		s.open(n.id, call{tool: n.tool})
	case callSent:
		s.held(n.id, n.server)
	case callAnswered:
		s.held(n.id, "")
	case callEnded:
		delete(s.calls, n.id)
	}
}

// held notes which server has the call.
func (s *session) held(id, server string) {
	if c, ok := s.calls[id]; ok {
		c.server = server
		s.calls[id] = c
	}
}

func (s *session) open(id string, c call) {
	if s.calls == nil {
		s.calls = make(map[string]call)
	}
	s.opened++
	c.nth = s.opened
	s.calls[id] = c
}

// openCalls returns what is open, in the order in which it was requested.
func (s *session) openCalls() []event.OpenCall {
	if len(s.calls) == 0 {
		return nil
	}
	ids := make([]string, 0, len(s.calls))
	for id := range s.calls {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(s.calls[a].nth, s.calls[b].nth) })
	out := make([]event.OpenCall, len(ids))
	for i, id := range ids {
		out[i] = event.OpenCall{ToolCallID: id, Tool: s.calls[id].tool, Server: s.calls[id].server}
	}
	return out
}

func (s *session) head() event.CheckpointHead {
	return event.CheckpointHead{Session: s.id, Seq: s.seq, Hash: string(s.hash[:]), Ended: s.ended, Open: s.openCalls()}
}

// fromHead is the session as a checkpoint knew it.
func fromHead(h event.CheckpointHead) *session {
	s := &session{id: h.Session, seq: h.Seq, ended: h.Ended}
	copy(s.hash[:], h.Hash)
	for _, o := range h.Open {
		s.open(o.ToolCallID, call{tool: o.Tool, server: o.Server})
	}
	return s
}
