package chaos_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/test/chaos"
)

// run is two calls that ended as they should: a was answered, b died with its server.
func run() chaos.Evidence {
	began := time.Unix(1000, 0)
	call := func(id, server, tool string) chaos.Outcome {
		return chaos.Outcome{
			CallPlan: chaos.CallPlan{ID: id, Server: server, Tool: tool, Deadline: time.Second}, Began: began, Ended: began.Add(time.Millisecond),
		}
	}
	a, b := call("a", "well", "write"), call("b", "pipea", "read")
	a.Text = "well did a"
	b.Kind, b.Text = fault.Restarted, "died"
	return chaos.Evidence{
		Servers:  []chaos.ServerPlan{{Name: "well"}, {Name: "pipea"}},
		Outcomes: []chaos.Outcome{a, b},
		Logged:   map[string]*chaos.Logged{"a": {1, []string{"completed"}}, "b": {1, []string{"mcp_server_restarted"}}},
		Reached:  map[string]map[string]int{"well": {"a": 1}, "pipea": {"b": 1}},
	}
}

// The oracle takes what is right, and finds each thing that isn't.
func TestCheck(t *testing.T) {
	if p := chaos.Check(run()); len(p) > 0 {
		t.Errorf("a run that is right: %q", p)
	}
	may := run()
	may.Servers[1].Idempotent = true
	may.Reached["pipea"]["b"] = 2
	if p := chaos.Check(may); len(p) > 0 {
		t.Errorf("a tool that may run twice: %q", p)
	}
	for want, spoil := range map[string]func(*chaos.Evidence){
		"ran 2 times":             func(e *chaos.Evidence) { e.Reached["pipea"]["b"] = 2 },
		"ran 2 times at well":     func(e *chaos.Evidence) { e.Servers[0].Idempotent, e.Reached["well"]["a"] = true, 2 }, // it writes
		"not meant for":           func(e *chaos.Evidence) { e.Reached["pipea"]["a"] = 1 },
		"never reached":           func(e *chaos.Evidence) { e.Reached["well"] = nil },
		"ended twice":             func(e *chaos.Evidence) { e.Outcomes = append(e.Outcomes, e.Outcomes[1]) },
		"nothing of it":           func(e *chaos.Evidence) { delete(e.Logged, "b") },
		"nobody made it":          func(e *chaos.Evidence) { e.Outcomes = e.Outcomes[:1]; e.Reached["pipea"] = nil },
		`["timeout" "completed"]`: func(e *chaos.Evidence) { e.Logged["a"].Ends = []string{"timeout", "completed"} },
		"the ends []":             func(e *chaos.Evidence) { e.Logged["a"].Ends = nil },
		"has 2 requests":          func(e *chaos.Evidence) { e.Logged["a"].Requested = 2 },
		"the log says timeout":    func(e *chaos.Evidence) { e.Logged["b"].Ends[0] = "timeout" },
		"is no reason":            func(e *chaos.Evidence) { e.Outcomes[1].Kind = fault.Internal; e.Logged["b"].Ends[0] = "internal" },
		"it was refused":          func(e *chaos.Evidence) { e.Outcomes[1].Refused = true },
		"answered with":           func(e *chaos.Evidence) { e.Outcomes[0].Text = "well did b" },
		"after its deadline":      func(e *chaos.Evidence) { e.Outcomes[0].Ended = e.Outcomes[0].Began.Add(4 * time.Second) },
		"healthy server failed":   func(e *chaos.Evidence) { e.Outcomes[0].Kind = fault.Timeout; e.Logged["a"].Ends[0] = "timeout" },
	} {
		e := run()
		spoil(&e)
		if p := strings.Join(chaos.Check(e), "\n"); !strings.Contains(p, want) {
			t.Errorf("%s: the oracle says %q", want, p)
		}
	}
}

// The same seed makes the same faults, another one others.
func TestPlan(t *testing.T) {
	for seed := range uint64(200) {
		p := chaos.NewPlan(seed)
		if !reflect.DeepEqual(p, chaos.NewPlan(seed)) {
			t.Fatalf("seed %d makes two plans", seed)
		}
		if reflect.DeepEqual(p.Faults, chaos.NewPlan(seed+1).Faults) {
			t.Fatalf("seeds %d and %d make the same faults", seed, seed+1)
		}
		for _, f := range p.Faults {
			if f.Server == p.Servers[0].Name {
				t.Fatalf("seed %d breaks the healthy server", seed)
			}
		}
	}
}
