package permission

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Question is what a person is asked. Everything in it may come from an untrusted server or model: whoever shows it
// must show all bytes of Args, and no control characters.
type Question struct {
	ID         string // by which it can be answered elsewhere; empty where nothing keeps questions
	ToolCallID string
	Session    string
	Principal  string // whom the session acts for, if known
	Client     string // the name that the client gave itself
	Target     Target
	Title      string // the tool's own description, cut
	Args       json.RawMessage
	Risk       Risk
	Rule       *Rule    // the ask rule, if one asks
	Reasons    []string // why it is asked, as sentences for a person
	Flow       string   // what data would go where, if that is a reason
	FlowOnly   bool     // it is the only reason: rules let the call run

	Entry      string // the hash of the server's entry in the configuration
	Definition string // the hash of the tool's definition
	Package    string // what the server's package resolved to, such as npm:x@1.2.3, if known
	Source     string // where the server's entry was written: "user", "project", …
	Policy     string // the version of the rules that asked

	Asked   time.Time
	Expires time.Time // from then on an answer comes too late
}

// OnceOnly reports whether a yes can only be for this one call: it may destroy, nobody knows what it may do, or it only
// asks since it would carry data from one place to another. That is asked about for each pair of them, whatever was
// answered about the tool.
func (q Question) OnceOnly() bool { return q.Risk == 0 || q.Risk >= Destructive || q.FlowOnly }

// Scope is how far an answer reaches.
type Scope uint8

// The scopes. A question that is OnceOnly takes Once only, whatever the person says.
const (
	Once Scope = iota
	Session
	Always
)

// String returns "once", "session" or "always".
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return "unknown"
}

var scopeNames = [...]string{"once", "session", "always"}

// ParseScope reads a name that String gives; an empty one is Once.
func ParseScope(s string) (Scope, error) {
	for i, name := range scopeNames {
		if s == name {
			return Scope(i), nil
		}
	}
	if s == "" {
		return Once, nil
	}
	return Once, errors.New("unknown scope: write once, session or always")
}

// Answer is a person's answer.
type Answer struct {
	Allow     bool
	Scope     Scope
	Via       string // terminal, callback, …
	Principal string // who answered, if known
}

// An Asker waits for a person. It returns ErrNobody where there is none; any error is not a yes. It must heed the end of
// ctx: then the question was answered elsewhere, or nobody waits for it any more, and context.Cause says which.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// ErrNobody says that nobody can be asked here.
var ErrNobody = errors.New("nobody can be asked here")

// AskerFunc makes a function an Asker.
type AskerFunc func(ctx context.Context, q Question) (Answer, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }
