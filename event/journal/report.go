package journal

import "fmt"

// Report is what Verify found.
type Report struct {
	Files    int       `json:"files"`
	Sessions int       `json:"sessions"`
	Events   int       `json:"events"`
	Problems []Problem `json:"problems,omitempty"` // at most MaxProblems
	Notes    []string  `json:"notes,omitempty"`    // what is no damage but worth knowing
}

// MaxProblems bounds a Report; what comes after is left out.
const MaxProblems = 10_000

// ProblemKind is a way in which a journal is not as it was written.
type ProblemKind string

// The kinds of problems.
const (
	ProblemLine      ProblemKind = "line"      // is no event at all
	ProblemHash      ProblemKind = "hash"      // bytes were changed
	ProblemChain     ProblemKind = "chain"     // doesn't follow the event before: changed, put in, or one was removed
	ProblemGap       ProblemKind = "gap"       // events are missing between two others
	ProblemOrder     ProblemKind = "order"     // lines were swapped or moved
	ProblemDuplicate ProblemKind = "duplicate" // an event stands twice
	ProblemForged    ProblemKind = "forged"    // two different events at one place of a session: one was put in
	ProblemCut       ProblemKind = "cut"       // the end of a file or of a session is missing
	ProblemDropped   ProblemKind = "dropped"   // a file is missing
	ProblemGrown     ProblemKind = "grown"     // something was added after a checkpoint
)

// Problem is one place that is not as it was written.
type Problem struct {
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"` // from 1
	Session string      `json:"session,omitempty"`
	Seq     int64       `json:"seq,omitempty"`
	Kind    ProblemKind `json:"kind"`
	Text    string      `json:"text"` // for a person
}

// String is a line for a person.
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if at != "" {
		at += ": "
	}
	return at + string(p.Kind) + ": " + p.Text
}
