package journal

import (
	"fmt"

	"github.com/usher-mcp/usher/event"
)

// chain is what Verify knows of one session.
type chain struct {
	seq   int64
	last  [2]string // hashes that the next event may follow; the second one of a changed or second line
	ended bool
	group string // of the file with its last event
	gaps  []*gap
}

const maxGaps = 100 // in one session; what comes late after more is reported as a duplicate

// gap is a run of events that didn't come where they belong. They may come late.
type gap struct {
	from, to, missing int64
	file              string
	line              int
}

func (g *gap) problem(session string) Problem {
	text := fmt.Sprintf("event %d is missing before this one", g.from)
	if g.to > g.from {
		text = fmt.Sprintf("%d of the events %d to %d are missing before this one", g.missing, g.from, g.to)
	}
	return Problem{File: g.file, Line: g.line, Session: session, Seq: g.from, Kind: ProblemGap, Text: text}
}

// advance makes e the last event; other is a second hash that the next one may follow.
func (c *chain) advance(e event.Event, group, other string) {
	c.seq, c.last, c.group = e.Seq, [2]string{e.Hash, other}, group
	c.ended = e.Type == "session.ended"
}

func (c *chain) follows(prev string) bool {
	return c.seq == 0 && prev == "" || prev != "" && (prev == c.last[0] || prev == c.last[1])
}

// late reports whether an event is one that was missing.
func (c *chain) late(seq int64) bool {
	for _, g := range c.gaps {
		if seq >= g.from && seq <= g.to && g.missing > 0 {
			g.missing--
			return true
		}
	}
	return false
}

// link compares e, whose hash is right, with what its session should go on with.
func (v *verifier) link(c *chain, e event.Event, group string) {
	switch {
	case e.Seq == c.seq+1:
		if !c.follows(e.Prev) {
			v.problem(ProblemChain, e.Session, e.Seq,
				"it doesn't follow event %d as that stands here: one of the two was changed or put in", c.seq)
		}
		c.advance(e, group, "")
	case e.Seq > c.seq:
		g := &gap{from: c.seq + 1, to: e.Seq - 1, missing: e.Seq - c.seq - 1, file: v.at, line: v.number}
		if len(c.gaps) < maxGaps {
			c.gaps = append(c.gaps, g)
		} else {
			v.add(g.problem(e.Session))
		}
		c.advance(e, group, "")
	case c.late(e.Seq):
		v.problem(ProblemOrder, e.Session, e.Seq, "event %d stands after event %d: lines were swapped or moved", e.Seq, c.seq)
	case e.Seq == c.seq && e.Hash != c.last[0] && e.Hash != c.last[1]:
		v.problem(ProblemForged, e.Session, e.Seq, "a second, different event %d: one of the two was put in", e.Seq)
		c.last[1] = e.Hash
	default:
		v.problem(ProblemDuplicate, e.Session, e.Seq, "event %d stands here once more: a copied line", e.Seq)
	}
}

// checkHead compares a session with what a checkpoint, which stands after all events that it speaks of, knows.
func (v *verifier) checkHead(h event.CheckpointHead) {
	c := v.sessions[h.Session]
	if c == nil {
		c = new(chain)
		v.sessions[h.Session] = c
	}
	switch {
	case c.seq < h.Seq:
		v.problem(ProblemCut, h.Session, h.Seq,
			"session %s ends with event %d, but this checkpoint knows of %d: its end was cut off, or a file dropped", h.Session, c.seq, h.Seq)
		c.seq, c.ended = h.Seq, h.Ended
	case c.seq > h.Seq:
		v.problem(ProblemGrown, h.Session, h.Seq,
			"session %s goes on after event %d, its last one for this checkpoint: events were put in", h.Session, h.Seq)
	case h.Hash != c.last[0] && h.Hash != c.last[1]:
		v.problem(ProblemForged, h.Session, h.Seq, "event %d is another one than this checkpoint knows", h.Seq)
	}
	c.last[1] = h.Hash
}
