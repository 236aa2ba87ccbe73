package admin

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
)

// Failure is how the API tells an error.
type Failure struct {
	Kind    string   `json:"kind"` // a fault.Kind, or "config"
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	Server  string   `json:"server,omitempty"`
	Problem *Problem `json:"problem,omitempty"` // of kind "config"
}

// Problem is a place in the configuration and what is wrong there.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

const kindConfig = "config"

// failureOf is err for the API, and the HTTP status that goes with it.
func failureOf(err error) (int, Failure) {
	_, managed := errors.AsType[*config.ManagedError](err)
	if p, ok := errors.AsType[*config.Problem](err); ok && !managed {
		told := Problem(*p)
		return http.StatusUnprocessableEntity, Failure{Kind: kindConfig, Message: p.Error(), Problem: &told}
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, failure(fault.New(fault.InvalidParams, "the request has more than %d bytes", tooLarge.Limit))
	}
	e := fault.Of(err)
	return e.Kind.Status(), failure(e)
}

func failure(e *fault.Error) Failure {
	cause := ""
	if e.Cause != nil {
		cause = e.Cause.Error()
	}
	return Failure{Kind: string(e.Kind), Message: cmp.Or(e.Detail, cause, e.Text(fault.English)), Hint: e.Hint, Server: e.Server}
}

// Err is the error that f was made from: a *config.Problem for one of the configuration, else a *fault.Error, whose
// Detail is the message.
func (f Failure) Err() error {
	if f.Problem != nil {
		p := config.Problem(*f.Problem)
		return &p
	}
	return &fault.Error{Kind: fault.Kind(f.Kind), Server: f.Server, Detail: f.Message, Hint: f.Hint}
}
