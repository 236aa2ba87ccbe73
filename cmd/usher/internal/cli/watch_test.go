package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/permission"
)

// Nobody floods the terminal: of what is too much in a second only the number is told.
func TestWatcherIsBounded(t *testing.T) {
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{to: &terminal{File: out}, command: "usher"}
		w.notice("x")
		w.begin()
		for range 11 {
			w.notice("x")
		}
		time.Sleep(linesPeriod)
		synctest.Wait()
		w.notice("later")
		w.close()
	})
	out.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(all)), "\n")
	if len(lines) != mostLines+2 || !strings.Contains(lines[mostLines], "and 7 more") || !strings.HasSuffix(lines[mostLines+1], "config: later") {
		t.Errorf("%q", lines)
	}
}

func TestRemedy(t *testing.T) {
	w := &watcher{command: "usher --config x"}
	for _, c := range []struct {
		q    permission.Question
		want string
	}{
		{permission.Question{Risk: permission.Write}, "to answer: usher --config x approvals show q_1; to allow it always: usher --config x allow mcp.a.b"},
		{permission.Question{Risk: permission.Destructive}, "to answer: usher --config x approvals show q_1"},
		{permission.Question{Rule: &permission.Rule{Pattern: "mcp.*", File: "f", Line: 2}}, "to answer: usher --config x approvals show q_1"},
		{permission.Question{Rule: &permission.Rule{Note: "it is broken"}}, "it is broken; to see it: usher --config x doctor; to answer: usher --config x approvals show q_1"},
	} {
		c.q.ID, c.q.Target = "q_1", permission.Target{Server: "a", Tool: "b"}
		if got := w.remedy(c.q); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
