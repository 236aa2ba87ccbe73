package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// Record is one question and what became of it.
type Record struct {
	permission.Question // of List: without Args
	State               State
	Digest              string // "sha256:…" over the raw bytes of Args
	Bytes               int64  // how long Args are
	Kept                bool   // Args are still there: of a question that has ended they aren't
	Answer              permission.Answer
	Answered            time.Time // zero: not yet
}

// maxBody bounds all of a question besides its arguments. What clients and servers may put into it is bounded elsewhere,
// far below.
const maxBody = 64 << 10

// body is what a Row doesn't hold in fields of its own. The rule is here by its text: what it is made of is none of our
// business.
type body struct {
	ToolCallID string   `json:"toolCallId,omitempty"`
	Principal  string   `json:"principal,omitempty"`
	Client     string   `json:"client,omitempty"`
	Server     string   `json:"server,omitempty"`
	Tool       string   `json:"tool"`
	Title      string   `json:"title,omitempty"`
	Risk       uint8    `json:"risk"`
	Rule       *rule    `json:"rule,omitempty"`
	Reasons    []string `json:"reasons,omitempty"`
	Flow       string   `json:"flow,omitempty"`
	FlowOnly   bool     `json:"flowOnly,omitempty"`
	Entry      string   `json:"entry,omitempty"`
	Definition string   `json:"definition,omitempty"`
	Package    string   `json:"package,omitempty"`
	Source     string   `json:"source,omitempty"`
	Policy     string   `json:"policy,omitempty"`
	Digest     string   `json:"digest"`

	Scope     uint8     `json:"scope,omitempty"`
	Via       string    `json:"via,omitempty"`
	By        string    `json:"by,omitempty"`
	Answered  time.Time `json:"answered,omitzero"`
	Elsewhere bool      `json:"elsewhere,omitempty"` // the answer came from no asker of the call's own
}

type rule struct {
	Pattern string `json:"pattern"`
	Scope   string `json:"scope,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Note    string `json:"note,omitempty"`
}

func bodyOf(q permission.Question, digest string) body {
	b := body{
		ToolCallID: q.ToolCallID, Principal: q.Principal, Client: q.Client, Server: q.Target.Server, Tool: q.Target.Tool, Title: q.Title,
		Risk: uint8(q.Risk), Reasons: q.Reasons, Flow: q.Flow, FlowOnly: q.FlowOnly, Entry: q.Entry, Definition: q.Definition, Package: q.Package,
		Source: q.Source, Policy: q.Policy, Digest: digest,
	}
	if r := q.Rule; r != nil {
		b.Rule = &rule{Pattern: r.Pattern, Scope: r.Scope, File: r.File, Line: r.Line, Note: r.Note}
	}
	return b
}

func (b body) encode() ([]byte, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	if len(data) > maxBody {
		return nil, fmt.Errorf("what says who asks for what is %d bytes long; at most %d are kept", len(data), maxBody)
	}
	return data, nil
}

func decode(row Row) (body, error) {
	var b body
	if err := json.Unmarshal(row.Body, &b); err != nil {
		return b, fmt.Errorf("question %s can't be read: %w", row.ID, err)
	}
	return b, nil
}

// record is the row as others see it at a time.
func (row Row) record(now time.Time) (Record, error) {
	b, err := decode(row)
	if err != nil {
		return Record{}, err
	}
	r := Record{Question: b.question(), State: row.at(now), Digest: b.Digest, Bytes: row.Bytes, Answered: b.Answered}
	r.ID, r.Session, r.Asked, r.Expires = row.ID, row.Session, row.Asked, row.Expires
	r.Answer = b.answer(row.State)
	return r, nil
}

func (b body) question() permission.Question {
	q := permission.Question{
		ToolCallID: b.ToolCallID, Principal: b.Principal, Client: b.Client, Target: permission.Target{Server: b.Server, Tool: b.Tool}, Title: b.Title,
		Risk: permission.Risk(b.Risk), Reasons: b.Reasons, Flow: b.Flow, FlowOnly: b.FlowOnly, Entry: b.Entry, Definition: b.Definition, Package: b.Package,
		Source: b.Source, Policy: b.Policy,
	}
	if r := b.Rule; r != nil {
		q.Rule = &permission.Rule{Pattern: r.Pattern, Scope: r.Scope, File: r.File, Line: r.Line, Note: r.Note}
	}
	return q
}

func (b body) answer(s State) permission.Answer {
	return permission.Answer{Allow: s == Allowed || s == Used, Scope: permission.Scope(b.Scope), Via: b.Via, Principal: b.By}
}

// slack is how far clocks of processes may be apart, or may be set back, before a question counts as over.
const slack = time.Minute

// at is the state at a time. What was asked in the future was asked before the clock was set back: nobody knows how old
// it is, so it is over.
func (row Row) at(now time.Time) State {
	live := row.State == Waiting || row.State == Allowed || row.State == Denied
	if live && (!now.Before(row.Expires) || row.Asked.After(now.Add(slack))) {
		if row.State == Denied {
			return Denied
		}
		return Expired
	}
	return row.State
}

// binds reports whether the row still says something about identical calls.
func (row Row) binds(now time.Time) bool {
	return now.Before(row.Expires) && !row.Asked.After(now.Add(slack)) && row.State <= Denied && row.State != Used
}

// digestOf is over the bytes as they came: two spellings of one value are two calls.
func digestOf(args []byte) string {
	sum := sha256.Sum256(args)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// keyOf is a hash of all that a question is bound to but its session. Each part is preceded by its length, so that none
// can reach into the next.
func keyOf(b body) string {
	return hash(b.Principal, b.Client, b.Server, b.Tool, b.Entry, b.Definition, b.Package, b.Source, string(rune('0'+b.Risk)), b.Flow, b.Policy, b.Digest)
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// errArgs says that the arguments on disk aren't those that were asked about.
var errArgs = errors.New("the arguments that were kept have changed on the disk: the question can't be shown; answer no, or let it expire")
