package flows

import (
	"fmt"
	"testing"

	"github.com/usher-mcp/usher/permission"
)

const tasks = 200

// do has each task done in a session of its own, by a client of its own or by one client that does them all.
func do(t *testing.T, o Options, all []Task, client func(i int) string) []Outcome {
	t.Helper()
	w := newWorld(t, o)
	w.Person.flows, w.Person.scope = true, permission.Session
	for i := range 5 {
		if err := w.Put("web", fmt.Sprint("page", i), Text{Parts: []string{"All is well."}}); err != nil {
			t.Fatal(err)
		}
	}
	var done []Outcome
	for i, task := range all {
		a := newAgent(t, w, client(i))
		done = append(done, a.Do(t.Context(), task))
		a.Leave()
	}
	return done
}

func ownClient(i int) string { return fmt.Sprint("client", i) }
func oneClient(int) string   { return "one" }

// Of 200 honest tasks all end, and nine in ten with at most one question more than without flows: in sessions of clients that
// know nothing yet, and for one client that did all the others before.
func TestHonestTasks(t *testing.T) {
	t.Parallel()
	all := Tasks(tasks)
	without := do(t, Options{Flows: "off"}, all, ownClient)
	for name, client := range map[string]func(int) string{"each a client of its own": ownClient, "one client does them all": oneClient} {
		good := compare(t, name, all, do(t, Options{}, all, client), without)
		if good < tasks*9/10 {
			t.Errorf("%s: only %d of %d tasks ended with at most one question more", name, good, tasks)
		}
	}
}

// Whatever says nothing of itself may reach the network, so that each of its tools asks, and is a sink for the others.
func TestHonestTasksOfSilentServers(t *testing.T) {
	t.Parallel()
	all := Tasks(tasks)[:tasks/4]
	good := compare(t, "servers say nothing of their tools", all,
		do(t, Options{Bare: true}, all, ownClient), do(t, Options{Bare: true, Flows: "off"}, all, ownClient))
	if good < len(all)*3/4 {
		t.Errorf("only %d of %d tasks ended with at most one question more", good, len(all))
	}
}

// compare prints what tasks cost, and counts those that ended with at most one question more.
func compare(t *testing.T, name string, all []Task, with, without []Outcome) (good int) {
	t.Helper()
	ended, asks, extra, kinds := 0, 0, map[int]int{}, map[string]int{}
	for i, task := range all {
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
		if without[i].Flows > 0 || more < 0 || !without[i].Ended {
			t.Errorf("%s: task %d (%s): %+v, without flows %+v", name, i, task.Kind, with[i], without[i])
		}
	}
	t.Logf("%s: %d of %d tasks ended, %d of them with at most one question more; %d questions in all; how many more → tasks: %v; more by kind: %v",
		name, ended, len(all), good, asks, extra, kinds)
	if extra[0] == len(all) {
		t.Errorf("%s: flows never asked: the tasks are too tame to tell", name)
	}
	return good
}
