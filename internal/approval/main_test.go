package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/permission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	wait = 25 * time.Second
	keep = 15 * time.Minute
)

// queue returns a Queue whose questions can be answered elsewhere. The owner stands for a process; those in dead are.
func queue(store approval.Store, owner string, dead ...string) *approval.Queue {
	return approval.New(approval.Options{
		Store: store, Wait: wait, Keep: keep, Elsewhere: true, Owner: owner,
		Alive: func(owner string) bool { return !slices.Contains(dead, owner) },
	})
}

func question() permission.Question {
	return permission.Question{
		ToolCallID: "tc_1", Session: "s_1", Principal: "ann", Client: "agent", Target: permission.Target{Server: "jira", Tool: "add"},
		Title: "Adds.", Args: []byte(`{"a":1}`), Risk: permission.Network, Reasons: []string{"its risk is network"},
		Rule: &permission.Rule{Pattern: "mcp.jira.*", Scope: "user", File: "f", Line: 3}, Entry: "sha256:e", Definition: "sha256:d",
		Package: "npm:x@1.0.0", Source: "user", Policy: "p1",
	}
}

// person is an Asker that says when it is asked, and answers what it is told to.
type person struct {
	via   string
	asked chan permission.Question
	says  chan permission.Answer
	ended chan error // the cause with which its context ended
}

func newPerson(via string) *person {
	return &person{via, make(chan permission.Question, 200), make(chan permission.Answer, 1), make(chan error, 200)}
}

func (p *person) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	p.asked <- q
	select {
	case a := <-p.says:
		a.Via = p.via
		return a, nil
	case <-ctx.Done():
		p.ended <- context.Cause(ctx)
		return permission.Answer{}, ctx.Err()
	}
}

type result struct {
	permission.Answer
	err error
}

// asks has a call ask in the background.
func asks(ctx context.Context, q *approval.Queue, question permission.Question, askers ...permission.Asker) <-chan result {
	out := make(chan result, 1)
	go func() {
		a, err := q.Ask(ctx, question, askers)
		out <- result{a, err}
	}()
	return out
}

// opens asks until the call waits no longer, and returns the question's id.
func opens(t *testing.T, q *approval.Queue, question permission.Question) string {
	t.Helper()
	a, err := q.Ask(t.Context(), question, nil)
	o, ok := errors.AsType[*approval.Open](err)
	if !ok || a.Allow {
		t.Fatalf("%+v, %v; want it open", a, err)
	}
	return o.ID
}

func answer(t *testing.T, q *approval.Queue, id string, allow bool) {
	t.Helper()
	if err := q.Answer(t.Context(), id, permission.Answer{Allow: allow, Via: "cli", Principal: "bob"}); err != nil {
		t.Fatal(err)
	}
}

// passes asks, and expects a yes that was there already.
func passes(t *testing.T, q *approval.Queue, question permission.Question) {
	t.Helper()
	if a, err := q.Ask(t.Context(), question, nil); err != nil || !a.Allow {
		t.Errorf("%+v, %v; want a yes", a, err)
	}
}

func waiting(t *testing.T, q *approval.Queue, n int) []approval.Record {
	t.Helper()
	all, err := q.List(t.Context())
	if err != nil || len(all) != n {
		t.Fatalf("%d wait (%v), want %d: %s", len(all), err, n, fmt.Sprint(all))
	}
	return all
}

// bubble runs f with a clock that costs no time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
