package permission

import (
	"context"
	"encoding/json"
	"errors"
)

// Question is what a person is asked. Everything in it may come from an untrusted server or model: whoever shows it
// must show all bytes of Args, and no control characters.
type Question struct {
	ToolCallID string
	Session    string
	Client     string
	Target     Target
	Title      string // the tool's own description, cut
	Args       json.RawMessage
	Risk       Risk
	Rule       *Rule // the ask rule, if one asks
}

// Scope is how far an answer reaches.
type Scope uint8

// The scopes. A destructive call takes Once only, whatever the person says.
const (
	Once Scope = iota
	Session
	Always
)

// Answer is a person's answer.
type Answer struct {
	Allow     bool
	Scope     Scope
	Via       string // terminal, callback, …
	Principal string // who answered, if known
}

// An Asker waits for a person. It returns ErrNobody where there is none; any error is a no.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// ErrNobody says that nobody can be asked here.
var ErrNobody = errors.New("nobody can be asked here")

// AskerFunc makes a function an Asker.
type AskerFunc func(ctx context.Context, q Question) (Answer, error)

// Ask calls f.
func (f AskerFunc) Ask(ctx context.Context, q Question) (Answer, error) { return f(ctx, q) }
