package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/event"
)

func start(t testing.TB, dir string, rotate int64) *Journal {
	t.Helper()
	j, err := Open(context.Background(), Options{Dir: dir, RotateBytes: rotate})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func begin(t testing.TB, j *Journal, session string) {
	t.Helper()
	if err := j.record(t.Context(), session, event.SessionStarted{Kind: "agent"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
}

func end(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process that recovers doesn't rotate: a third one might then find a session's beginning, but not its end.
func TestNoRotationWhileRecovering(t *testing.T) {
	dir := t.TempDir()
	j := start(t, dir, 0)
	for i := range 30 {
		begin(t, j, fmt.Sprint("s_", i))
	}
	end(t, j)
	j = start(t, dir, 1000)
	defer end(t, j)
	if there, err := list(dir); err != nil || len(there) != 2 {
		t.Errorf("%d files, %v", len(there), err)
	}
}

// The end of the host session stays its last event, also where a rotation is due; so it is ended once.
func TestNoCheckpointAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	j := start(t, dir, 1)
	begin(t, j, "s_1")
	end(t, j)
	end(t, start(t, dir, 0))
	ends := 0
	for e, err := range Read(dir, Filter{Session: j.Host()}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "session.ended" {
			ends++
		} else if ends > 0 {
			t.Errorf("%s after the end", e.Type)
		}
	}
	if ends != 1 {
		t.Errorf("%d ends", ends)
	}
}

// D3: a call that was tried several times is closed once, wherever it was: with the server, or between two attempts.
func TestRetriedCallIsClosedOnce(t *testing.T) {
	sent := event.CallStarted{Server: "fs", ToolCallID: "c", Method: "tools/call"}
	failed := event.CallFailed{Server: "fs", ToolCallID: "c", Kind: "NetworkError", Message: "503"}
	for _, rotated := range []bool{false, true} { // then what is open is known from a checkpoint
		for name, attempts := range map[string][]event.Data{
			"not sent": {}, "with the server": {sent, failed, sent, failed, sent}, "between": {sent, failed, sent, failed},
		} {
			t.Run(fmt.Sprint(name, rotated), func(t *testing.T) {
				dir := t.TempDir()
				rotate := int64(0)
				if rotated {
					rotate = 1
				}
				j := start(t, dir, rotate)
				begin(t, j, "s_1")
				for _, d := range append([]event.Data{event.ToolCallRequested{ToolCallID: "c", Tool: "mcp.fs.read"}}, attempts...) {
					if err := j.record(t.Context(), "s_1", d); err != nil {
						t.Fatal(err)
					}
					if err := j.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				dead := killed(t, dir)
				end(t, j)
				end(t, start(t, dead, 0))
				count := map[string]int{}
				for e, err := range Read(dead, Filter{Session: "s_1"}) {
					if err != nil {
						t.Fatal(err)
					}
					count[e.Type]++
				}
				if count["mcp.call.started"] != count["mcp.call.failed"] || count["tool.failed"] != 1 || count["session.ended"] != 1 {
					t.Error(count)
				}
			})
		}
	}
}

// Checkpoints don't grow from start to start: each names only what none before it did.
func TestCheckpointsDontGrow(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir, 0)
	end(t, first)
	end(t, start(t, dir, 0))
	third := start(t, dir, 0)
	end(t, third)
	for e, err := range Read(dir, Filter{Session: third.Host(), Type: "log.checkpoint"}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Data), first.Host()) || strings.Count(string(e.Data), `"session"`) != 1 {
			t.Errorf("names what was named before: %s", e.Data)
		}
	}
}

// A dead process's later file, made after the folder was listed, must be seen before the process counts as dead.
func TestComplete(t *testing.T) {
	dead := []deadFile{{entry: entry{name: "a-0001", group: "a"}}}
	for name, c := range map[string]struct {
		now  []entry
		want bool
	}{
		"as listed":      {[]entry{{name: "a-0000", group: "a", sealed: true}, {name: "a-0001", group: "a"}, {name: "b-0000", group: "b"}}, true},
		"a later file":   {[]entry{{name: "a-0001", group: "a"}, {name: "a-0002", group: "a"}}, false},
		"sealed by then": {[]entry{{name: "a-0001", group: "a", sealed: true}, {name: "a-0002", group: "a"}}, false},
	} {
		if got := complete(dead, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
