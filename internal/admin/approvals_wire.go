package admin

import (
	"time"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

// Approvals are questions, the oldest first.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
}

// Approval is a question and what became of it. What is in it comes from clients and servers: nobody vouches for it.
type Approval struct {
	ID        string `json:"id"`
	State     string `json:"state"` // waiting, allowed, used, denied, expired or withdrawn
	Call      string `json:"toolCallId,omitempty"`
	Session   string `json:"session,omitempty"`
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`

	Tool     string   `json:"tool"`             // the canonical name
	Server   string   `json:"server,omitempty"` // empty: built in
	Name     string   `json:"name"`             // of the tool, as its server has it
	Title    string   `json:"title,omitempty"`
	Risk     string   `json:"risk"`
	Reasons  []string `json:"reasons,omitempty"`
	Flow     string   `json:"flow,omitempty"`
	FlowOnly bool     `json:"flowOnly,omitempty"`
	Rule     *Rule    `json:"rule,omitempty"`
	Scopes   []string `json:"scopes"` // how far a yes can reach

	Entry      string `json:"entry,omitempty"`
	Definition string `json:"definition,omitempty"`
	Package    string `json:"package,omitempty"`
	Source     string `json:"source,omitempty"`
	Policy     string `json:"policy,omitempty"`

	Args    []byte    `json:"args,omitempty"` // base64 of the bytes as they came; only of one question, while it is open
	Digest  string    `json:"digest"`         // of Args
	Bytes   int64     `json:"bytes"`          // of Args
	Asked   time.Time `json:"asked,omitzero"`
	Expires time.Time `json:"expires,omitzero"`

	Scope      string    `json:"scope,omitempty"` // of the answer
	Via        string    `json:"via,omitempty"`
	AnsweredBy string    `json:"answeredBy,omitempty"`
	Answered   time.Time `json:"answered,omitzero"`
}

// Rule is an ask rule.
type Rule struct {
	Pattern string `json:"pattern"`
	Scope   string `json:"scope,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Note    string `json:"note,omitempty"`
}

// ApprovalOf is a record as the API tells it.
func ApprovalOf(r approval.Record) Approval {
	a := Approval{
		ID: r.ID, State: r.State.String(), Call: r.ToolCallID, Session: r.Session, Principal: r.Principal, Client: r.Client,
		Tool: r.Target.Canonical(), Server: r.Target.Server, Name: r.Target.Tool, Title: r.Title, Risk: r.Risk.String(),
		Reasons: r.Reasons, Flow: r.Flow, FlowOnly: r.FlowOnly, Entry: r.Entry, Definition: r.Definition, Package: r.Package, Source: r.Source, Policy: r.Policy,
		Args: r.Args, Digest: r.Digest, Bytes: r.Bytes, Asked: r.Asked, Expires: r.Expires,
		Via: r.Answer.Via, AnsweredBy: r.Answer.Principal, Answered: r.Answered,
	}
	if r.Rule != nil {
		a.Rule = &Rule{Pattern: r.Rule.Pattern, Scope: r.Rule.Scope, File: r.Rule.File, Line: r.Rule.Line, Note: r.Rule.Note}
	}
	if !r.Answered.IsZero() {
		a.Scope = r.Answer.Scope.String()
	}
	for _, s := range []permission.Scope{permission.Once, permission.Session, permission.Always} {
		if Reaches(r.Question, s) == nil {
			a.Scopes = append(a.Scopes, s.String())
		}
	}
	return a
}

// Question is what a person is asked.
func (a Approval) Question() permission.Question {
	risk, _ := permission.ParseRisk(a.Risk) // one that nobody knows is 0, which counts as the worst
	q := permission.Question{
		ID: a.ID, ToolCallID: a.Call, Session: a.Session, Principal: a.Principal, Client: a.Client,
		Target: permission.Target{Server: a.Server, Tool: a.Name}, Title: a.Title, Args: a.Args, Risk: risk,
		Reasons: a.Reasons, Flow: a.Flow, FlowOnly: a.FlowOnly, Entry: a.Entry, Definition: a.Definition, Package: a.Package, Source: a.Source, Policy: a.Policy,
		Asked: a.Asked, Expires: a.Expires,
	}
	if r := a.Rule; r != nil {
		q.Rule = &permission.Rule{Pattern: r.Pattern, Scope: r.Scope, File: r.File, Line: r.Line, Note: r.Note}
	}
	return q
}
