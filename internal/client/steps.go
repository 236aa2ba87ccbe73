package client

import (
	"errors"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// steps notes what the handshake does. It isn't for concurrent use.
type steps struct{ done []Step }

// begin starts the clock of a step; what it returns stops it and notes the outcome.
func (t *steps) begin(what string) func(result string) {
	started := time.Now()
	return func(result string) {
		t.done = append(t.done, Step{What: what, Took: time.Since(started), Result: result})
	}
}

// outcome is the Result of a step, of an answer and an error of which at most one matters.
func (s *Session) outcome(answer *mcp.Message, err error) string {
	switch {
	case err != nil:
		return s.words(err)
	case answer != nil && answer.Error != nil:
		return s.clean(answer.Err().Error())
	}
	return "ok"
}

// failed is a handshake that led to nothing.
type failed struct {
	error
	steps []Step
}

func (f *failed) Unwrap() error { return f.error }

// Steps returns what was done before Connect failed with err; nil if err isn't of Connect.
func Steps(err error) []Step {
	if f, ok := errors.AsType[*failed](err); ok {
		return f.steps
	}
	return nil
}
