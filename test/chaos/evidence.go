package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/mcp"
)

// readLog gathers what the log says of each call.
func readLog(dir string) (map[string]*Logged, error) {
	calls, all := map[string]*Logged{}, map[string]*Logged{}
	for e, err := range journal.Read(dir, journal.Filter{}) {
		if err != nil {
			return nil, err
		}
		call := mcp.Text(mcp.Member(e.Data, "toolCallId"))
		switch e.Type {
		case "model.tool_call_requested":
			id := mcp.Text(mcp.Path(e.Data, "args", "id"))
			if all[id] == nil {
				all[id] = &Logged{}
			}
			all[id].Requested++
			calls[call] = all[id]
		case "tool.completed", "tool.failed":
			if calls[call] == nil {
				return nil, fmt.Errorf("%s of a call that nobody requested", e.Type)
			}
			end := "completed"
			if e.Type == "tool.failed" {
				end = mcp.Text(mcp.Member(e.Data, "reason"))
			}
			calls[call].Ends = append(calls[call].Ends, end)
		}
	}
	return all, nil
}

// readReached reads the server's own journal.
func readReached(path string) (map[string]int, error) {
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	ids := map[string]int{}
	for line := range strings.Lines(string(b)) {
		id, _, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q", path, line)
		}
		ids[id]++
	}
	return ids, nil
}

func (w *world) evidence(outs []Outcome) (e Evidence, err error) {
	e = Evidence{Servers: w.plan.Servers, Outcomes: outs, Reached: map[string]map[string]int{}}
	if e.Logged, err = readLog(w.o.log()); err != nil {
		return e, err
	}
	for _, s := range w.plan.Servers {
		if e.Reached[s.Name], err = readReached(w.o.reached(s.Name)); err != nil {
			return e, err
		}
	}
	return e, nil
}

// verify holds the log against both verifiers (H6).
func verify(dir, script string) (problems []string) {
	report, err := journal.Verify(dir)
	if err != nil {
		return []string{"verify: " + err.Error()}
	}
	for _, p := range report.Problems {
		problems = append(problems, "verify: "+p.String())
	}
	if out, err := exec.Command("python3", script, dir).CombinedOutput(); err != nil {
		problems = append(problems, fmt.Sprintf("verify.py: %v: %s", err, out))
	}
	return problems
}
