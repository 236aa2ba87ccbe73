package flows

import (
	"fmt"
	"testing"

	"github.com/usher-mcp/usher/permission"
)

const tasks = 200

// do has each task done in a session of its own, by a client of its own or by one client that does them all.
func do(t *testing.T, o Options, client func(i int) string) []Outcome {
	t.Helper()
	w := newWorld(t, o)
	w.Person.flows, w.Person.scope = true, permission.Session
	for i := range 5 {
		if err := w.Put("web", fmt.Sprint("page", i), Text{Parts: []string{"All is well."}}); err != nil {
			t.Fatal(err)
		}
	}
	var all []Outcome
	for i, task := range Tasks(tasks) {
		a := newAgent(t, w, client(i))
		all = append(all, a.Do(t.Context(), task))
		a.Leave()
	}
	return all
}

// Of 200 honest tasks all end, and nine in ten with at most one question more than without flows: in sessions of clients that
// know nothing yet, and for one client that did all the others before.
func TestHonestTasks(t *testing.T) {
	own := func(i int) string { return fmt.Sprint("client", i) }
	for _, c := range []struct {
		name   string
		bare   bool
		client func(int) string
		least  int // tasks
	}{
		{"each task a client of its own", false, own, tasks * 9 / 10},
		{"one client does them all", false, func(int) string { return "one" }, tasks * 9 / 10},
		// Whatever says nothing of itself may reach the network, so that each of its tools asks, and is a sink for the others.
		{"servers say nothing of their tools", true, own, tasks * 8 / 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			with, without := do(t, Options{Bare: c.bare}, c.client), do(t, Options{Bare: c.bare, Flows: "off"}, c.client)
			good, ended, asks, extra := 0, 0, 0, map[int]int{}
			kinds := map[string]int{}
			for i, task := range Tasks(tasks) {
				more := with[i].Asks - without[i].Asks
				if with[i].Ended {
					ended++
				}
				if with[i].Ended && more <= 1 {
					good++
				}
				extra[more]++
				kinds[task.Kind] += more
				asks += with[i].Asks
				if without[i].Flows > 0 || more < 0 {
					t.Errorf("task %d (%s): %+v, without flows %+v", i, task.Kind, with[i], without[i])
				}
			}
			t.Logf("%d of %d tasks ended, %d of them with at most one question more; %d questions in all; how many more → tasks: %v; by kind: %v",
				ended, tasks, good, asks, extra, kinds)
			if good < c.least || ended < tasks {
				t.Errorf("%d of %d ended, %d well", ended, tasks, good)
			}
			if extra[0] == tasks {
				t.Error("flows never asked: the tasks are too tame to tell")
			}
		})
	}
}
