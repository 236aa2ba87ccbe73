package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

// Approver keeps the questions of calls that wait for a person, as *approval.Queue does. Its methods are called from
// several goroutines at a time.
type Approver interface {
	// List returns the questions in these states, the oldest first, without their arguments.
	List(ctx context.Context, states ...approval.State) ([]approval.Record, error)
	// Show returns one question with its arguments.
	Show(ctx context.Context, id string) (approval.Record, error)
	// Answer answers one. The error wraps approval.ErrAnswered, ErrExpired or ErrUnknown where it takes no answer.
	Answer(ctx context.Context, id string, a permission.Answer) error
}

var _ Approver = (*approval.Queue)(nil)

const (
	pathApprovals = "/v1/approvals"
	// viaAPI is what the log says of an answer that came this way.
	viaAPI = "admin"
)

// verdict is the body of an answer.
type verdict struct {
	Allow *bool  `json:"allow"`
	Scope string `json:"scope,omitempty"`
}

func (h *handler) approvals(m *http.ServeMux) {
	if h.approver == nil {
		return
	}
	m.HandleFunc("GET "+pathApprovals, h.listApprovals)
	m.HandleFunc("GET "+pathApprovals+"/{id}", h.showApproval)
	m.HandleFunc("POST "+pathApprovals+"/{id}", h.answerApproval)
}

func (h *handler) listApprovals(w http.ResponseWriter, r *http.Request) {
	all, err := h.approver.List(r.Context())
	if err != nil {
		refuse(w, approvalFault(err, ""))
		return
	}
	list := Approvals{Approvals: []Approval{}}
	for _, one := range all {
		list.Approvals = append(list.Approvals, ApprovalOf(one))
	}
	answer(w, http.StatusOK, list)
}

func (h *handler) showApproval(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	one, err := ShowApproval(r.Context(), h.approver, id)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, one)
}

func (h *handler) answerApproval(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := h.mayDecide(r.Context(), fmt.Sprintf("an answer to question %.20q", id)); err != nil {
		refuse(w, err)
		return
	}
	v, err := read[verdict](w, r)
	if err == nil {
		err = h.settle(r.Context(), id, v)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) settle(ctx context.Context, id string, v verdict) error {
	scope, err := permission.ParseScope(v.Scope)
	switch {
	case v.Allow == nil:
		return fault.New(fault.InvalidParams, `the answer says neither "allow": true nor false`)
	case err != nil:
		return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error()}
	}
	return Decide(ctx, h.approver, id, *v.Allow, scope)
}

// ShowApproval is one question with its arguments. The error is a *fault.Error.
func ShowApproval(ctx context.Context, from Approver, id string) (Approval, error) {
	one, err := from.Show(ctx, id)
	if err != nil {
		return Approval{}, approvalFault(err, id)
	}
	return ApprovalOf(one), nil
}

// Decide answers a question as this user, who is the only one that the API lets in. Whether whoever asks for that may
// decide is the caller's to find out. An answer that reaches further than the question lets it is refused, and not cut
// down: who gave it would think that later calls are decided. The error is a *fault.Error.
func Decide(ctx context.Context, at Approver, id string, allow bool, scope permission.Scope) error {
	one, err := at.Show(ctx, id)
	if err != nil {
		return approvalFault(err, id)
	}
	if allow && one.State == approval.Waiting {
		if err := Reaches(one.Question, scope); err != nil {
			return err
		}
	}
	return approvalFault(at.Answer(ctx, id, permission.Answer{Allow: allow, Scope: scope, Via: viaAPI, Principal: me()}), id)
}

// Reaches returns an error where a yes to a question can't reach as far as scope. The error is a *fault.Error.
func Reaches(q permission.Question, scope permission.Scope) error {
	switch {
	case scope == permission.Once:
		return nil
	case q.Flow != "":
		return &fault.Error{Kind: fault.InvalidParams, Detail: "it asks only since it could carry data out, and a yes is for what the question names, while the session lasts", Hint: "Answer without --session and --always"}
	case q.OnceOnly():
		return &fault.Error{Kind: fault.InvalidParams, Detail: "a destructive call asks each time, so a yes is for this one call", Hint: "Answer without --session and --always"}
	case scope == permission.Always && q.Rule != nil:
		return &fault.Error{Kind: fault.InvalidParams, Detail: "an ask rule asks, and comes before what is allowed for good", Hint: "Answer for this call or for the session, or take the rule out"}
	}
	return nil
}

// approvalFault sorts why a question can't be shown or answered.
func approvalFault(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, approval.ErrUnknown):
		return &fault.Error{Kind: fault.NotFound, Detail: fmt.Sprintf("there is no question %.40q", id), Hint: "It may have ended long ago."}
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrExpired):
		return &fault.Error{Kind: fault.InvalidParams, Detail: err.Error()}
	}
	return &fault.Error{Kind: fault.Internal, Detail: err.Error(), Cause: err}
}

// me is whom the answers count for: the gate lets nobody else in.
func me() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
