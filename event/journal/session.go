package journal

import (
	"cmp"
	"slices"

	"github.com/usher-mcp/usher/event"
)

// session is the head of one session's chain and what is open in it.
type session struct {
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

// advance makes an event the head.
func (s *session) advance(seq int64, hash [event.HashLen]byte, d event.Data) {
	s.seq, s.hash, s.changed = seq, hash, true
	s.note(d)
}

// note keeps track of what is open.
func (s *session) note(d event.Data) {
	switch d := d.(type) {
	case event.SessionEnded:
		s.ended, s.calls = true, nil
	case event.ToolCallRequested:
		s.open(d.ToolCallID, call{tool: d.Tool})
	case event.CallStarted:
		if c, ok := s.calls[d.ToolCallID]; ok {
			c.server = d.Server
			s.calls[d.ToolCallID] = c
		}
	case event.CallCompleted:
		s.answered(d.ToolCallID)
	case event.CallFailed:
		s.answered(d.ToolCallID)
	case event.ToolCompleted:
		delete(s.calls, d.ToolCallID)
	case event.ToolFailed:
		delete(s.calls, d.ToolCallID)
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

func (s *session) answered(id string) {
	if c, ok := s.calls[id]; ok && c.server != "" {
		c.server = ""
		s.calls[id] = c
	}
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

func (s *session) head(id string) event.CheckpointHead {
	return event.CheckpointHead{Session: id, Seq: s.seq, Hash: string(s.hash[:]), Ended: s.ended, Open: s.openCalls()}
}

// fromHead is the session as a checkpoint knew it.
func fromHead(h event.CheckpointHead) *session {
	s := &session{seq: h.Seq, ended: h.Ended}
	copy(s.hash[:], h.Hash)
	for _, o := range h.Open {
		s.open(o.ToolCallID, call{tool: o.Tool, server: o.Server})
	}
	return s
}
