package usher_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

// full is a store on a disk that is full.
type full struct{ approval.Memory }

func (*full) Write(context.Context, func(approval.Tx) error) error {
	return errors.New("the disk is full")
}

// F8: the log tells a question that nobody answered in time from one that couldn't be asked; neither lets the call run.
func TestWhoDecidedWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		store usher.QuestionStore
		want  string
	}{
		"nobody answers":      {new(approval.Memory), "timeout"},
		"it can't be kept":    {new(full), "default"},
		"nobody can be asked": {nil, "default"},
	} {
		synctest.Test(t, func(t *testing.T) {
			log, server := new(eventtest.Log), &fake{tools: netTool}
			h, err := usher.Open(t.Context(), usher.Options{
				Servers: []usher.Server{{Name: "jira", Transport: local.New(server), Kind: "local"}}, Log: log, Questions: c.store,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			h.Ready(t.Context())
			s, err := h.Session(usher.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Call(t.Context(), "mcp.jira.post", nil); fault.KindOf(err) != fault.ApprovalRequired || server.calls.Load() != 0 {
				t.Errorf("%s: %v", name, err)
			}
			for _, e := range log.Events(s.ID()) {
				if got := mcp.Text(mcp.Member(e.Data, "actor")); e.Type == "permission.resolved" && got != c.want {
					t.Errorf("%s: decided by %q, want %q", name, got, c.want)
				}
			}
		})
	}
}
