package flows

import (
	"testing"

	"github.com/usher-mcp/usher/permission"
)

// The first ten calls of somebody with three servers of their own, which say what their tools do: reads are silent, a tool
// asks at most once. The answer is each time the one for the session.
func TestFirstUse(t *testing.T) {
	t.Parallel()
	mail, file, note := callOf{"mcp.mail.read_mail", object{"id": "1"}}, callOf{"local.read_file", object{"path": "notes.txt"}}, callOf{"mcp.notes.read_note", object{"key": "k"}}
	list, fetch := callOf{"mcp.mail.list_mail", object{}}, callOf{"mcp.web.fetch", object{"url": "page"}}
	keep := callOf{"mcp.notes.write_note", object{"key": "k", "text": "x"}}
	usual := []callOf{list, mail, mail, file, note, fetch, keep, keep, note, fetch}
	hard := []callOf{list, mail, fetch, file, fetch, note, fetch, keep, keep, fetch}
	for _, c := range []struct {
		name  string
		calls []callOf
		bare  bool
		most  int // questions
		tool  int // of one tool
	}{
		{"hints", usual, false, 2, 1},
		// Each source of private data is another pair with the one sink.
		{"hints, and a page after each source", hard, false, 4, 3},
		// A tool that says nothing of itself asks by itself, and once more for what it could carry from the other servers.
		{"no hints", usual, true, 8, 2},
	} {
		w := newWorld(t, Options{Bare: c.bare})
		w.Person.flows, w.Person.scope = true, permission.Session
		a := newAgent(t, w, "somebody")
		perTool, reads := map[string]int{}, 0
		for _, call := range c.calls {
			if o := a.Do(t.Context(), Task{calls: []callOf{call}}); !o.Ended {
				t.Errorf("%s: %s didn't end", c.name, call.tool)
			} else if perTool[call.tool] += o.Asks; o.Asks > o.Flows && !c.bare && call.tool != "mcp.notes.write_note" {
				reads++
			}
		}
		a.Leave()
		asks := 0
		for tool, n := range perTool {
			if asks += n; n > c.tool {
				t.Errorf("%s: %s asked %d times", c.name, tool, n)
			}
		}
		t.Logf("%s: %d questions for ten calls: %v", c.name, asks, perTool)
		if reads > 0 || asks > c.most {
			t.Errorf("%s: %d questions, of them %d for reads", c.name, asks, reads)
		}
	}
}
