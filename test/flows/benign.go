package flows

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Task is what somebody honestly wants: calls, one after the other.
type Task struct {
	Kind  string // read, summarise, write or fetch
	calls []callOf
}

type callOf struct {
	tool string
	args object
}

// Tasks makes n tasks of the four kinds in turn, the same ones each time.
func Tasks(n int) []Task {
	r := rand.New(rand.NewPCG(5, 8))
	all := make([]Task, n)
	for i := range all {
		all[i] = taskMakers[i%len(taskMakers)](r)
	}
	return all
}

var taskMakers = []func(*rand.Rand) Task{
	func(r *rand.Rand) Task { return Task{"read", some(r, 1, 3, readOf)} },
	func(r *rand.Rand) Task { return Task{"summarise", some(r, 3, 8, lookOf)} },
	func(r *rand.Rand) Task {
		return Task{"write", append(some(r, 0, 3, lookOf), some(r, 1, 2, writeOf)...)}
	},
	fetchTask,
}

// fetchTask gets pages from the web: alone, after it read something, in between, or to tell the world of it.
func fetchTask(r *rand.Rand) Task {
	calls := some(r, 1, 4, fetchOf)
	switch r.IntN(4) {
	case 0:
		calls = append(some(r, 1, 2, readOf), calls...)
	case 1:
		calls = append(append(calls, some(r, 1, 2, readOf)...), some(r, 0, 1, fetchOf)...)
	case 2:
		calls = append(append(calls, some(r, 0, 1, readOf)...), callOf{"mcp.net.post", object{"url": "blog", "body": "what the page says"}})
	}
	return Task{"fetch", calls}
}

func some(r *rand.Rand, least, most int, of func(*rand.Rand) callOf) (calls []callOf) {
	for range least + r.IntN(most-least+1) {
		calls = append(calls, of(r))
	}
	return calls
}

func readOf(r *rand.Rand) callOf {
	return []callOf{
		{"mcp.mail.list_mail", nil}, {"mcp.mail.read_mail", object{"id": "1"}}, {"mcp.mail.read_mail", object{"id": "2"}},
		{"local.read_file", object{"path": "notes.txt"}}, {"local.list_files", object{"path": "."}}, {"mcp.notes.read_note", object{"key": "k"}},
	}[r.IntN(6)]
}

// lookOf reads, now and then from the web.
func lookOf(r *rand.Rand) callOf {
	if r.IntN(8) == 0 {
		return fetchOf(r)
	}
	return readOf(r)
}

func fetchOf(r *rand.Rand) callOf {
	return callOf{"mcp.web.fetch", object{"url": fmt.Sprint("page", r.IntN(5))}}
}

func writeOf(r *rand.Rand) callOf {
	return callOf{"mcp.notes.write_note", object{"key": fmt.Sprint("k", r.IntN(5)), "text": "what I found"}}
}

// Outcome is what became of a task.
type Outcome struct {
	Ended bool // each call was answered
	Asks  int  // how often somebody was asked
	Flows int  // in how many of the questions a flow was a reason
}

// Do does the task.
func (a *Agent) Do(ctx context.Context, t Task) Outcome {
	o := Outcome{Ended: true}
	for _, c := range t.calls {
		args := c.args
		if args == nil {
			args = object{}
		}
		if a.call(ctx, c.tool, args) == nil {
			o.Ended = false
		}
	}
	asked := a.w.Person.Take()
	o.Asks, o.Flows = len(asked), flowsOf(asked)
	return o
}
