package usher_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
)

// H2: ended sessions say so, behind their last call; then they run nothing.
func TestClose(t *testing.T) {
	w := open(t)
	asked, done := make(chan struct{}), make(chan struct{})
	w.answer = func(permission.Question) (permission.Answer, error) {
		close(asked)
		<-done
		return permission.Answer{Allow: true}, nil
	}
	ended := make(chan error)
	go func() {
		_, err := w.Call(t.Context(), "mcp.jira.post", nil)
		ended <- err
	}()
	<-asked
	w.Close("closed")
	w.Close("closed")
	if _, err := w.Call(t.Context(), "mcp.jira.get", []byte(`{"key":"k"}`)); !errors.Is(err, usher.ErrClosed) {
		t.Errorf("a call of a closed session: %v", err)
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []string{"tool.completed", "session.ended"}
	if diff := cmp.Diff(want, w.types(0)[len(w.types(0))-2:]); diff != "" {
		t.Error(diff)
	}
}

// Close of the host withdraws a question that nobody answers, and the log has the call's end.
func TestHostCloseWithdrawsQuestions(t *testing.T) {
	log := new(eventtest.Log)
	asked := make(chan struct{})
	h, err := usher.Open(t.Context(), usher.Options{
		Local: &fake{tools: netTool}, Log: log, Policy: func() *permission.Policy { return &permission.Policy{Ask: []permission.Rule{{Pattern: "*"}}} },
		Asker: permission.AskerFunc(func(ctx context.Context, _ permission.Question) (permission.Answer, error) {
			close(asked)
			<-ctx.Done()
			return permission.Answer{}, ctx.Err()
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Session(usher.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := s.Call(t.Context(), "local.post", nil)
		ended <- err
	}()
	<-asked
	_ = h.Close()
	if err := <-ended; fault.KindOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
	types := log.Types(s.ID())
	if diff := cmp.Diff([]string{"tool.failed", "session.ended"}, types[len(types)-2:]); diff != "" {
		t.Error(diff)
	}
	if _, err := h.Session(usher.SessionOptions{}); !errors.Is(err, usher.ErrClosed) {
		t.Errorf("a session of a closed host: %v", err)
	}
}
