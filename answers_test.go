package usher_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
)

// F4: what a person answers holds as far as it says, and no further than the definition that they saw.
func TestAnswers(t *testing.T) {
	w := open(t)
	scope := permission.Once
	w.answer = func(permission.Question) (permission.Answer, error) {
		return permission.Answer{Allow: true, Scope: scope, Via: "terminal"}, nil
	}
	call := func(tool, from string, asked int) {
		t.Helper()
		if _, err := w.Call(t.Context(), tool, []byte(`{"x":1.0}`)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range w.log.Events(w.ID()) {
			if e.Type == "permission.resolved" {
				got = append(got, mcp.Text(mcp.Member(e.Data, "sourcedFrom")))
			}
		}
		if got[len(got)-1] != from || len(w.asked) != asked {
			t.Errorf("decided by %s after %d questions, want %s after %d", got[len(got)-1], len(w.asked), from, asked)
		}
	}
	call("mcp.jira.post", "user_allow_once", 1)
	call("mcp.jira.post", "user_allow_once", 2)
	scope = permission.Session
	call("mcp.jira.post", "session_allow_once", 3)
	call("mcp.jira.post", "session_allow", 3)
	scope = permission.Always
	call("mcp.jira.drop", "user_allow_once", 4)
	call("mcp.jira.drop", "user_allow_once", 5)
	call("mcp.jira.read_file", "always_allow", 6)
	if diff := cmp.Diff([]permission.Target{{Server: "jira", Tool: "read_file"}}, w.kept); diff != "" {
		t.Error(diff)
	}
	if got := string(w.asked[0].Args); got != `{"x":1.0}` {
		t.Errorf("the question shows %s", got)
	}
}

// F5: no answer is a no.
func TestNo(t *testing.T) {
	for name, answer := range map[string]func(permission.Question) (permission.Answer, error){
		"no": func(permission.Question) (permission.Answer, error) { return permission.Answer{}, nil },
		"failed": func(permission.Question) (permission.Answer, error) {
			return permission.Answer{Allow: true}, errors.New("gone")
		},
	} {
		w := open(t)
		w.answer = answer
		if _, err := w.Call(t.Context(), "mcp.jira.post", nil); err == nil || w.jira.calls.Load() != 0 {
			t.Errorf("%s: err %v, %d calls", name, err, w.jira.calls.Load())
		}
	}
}
