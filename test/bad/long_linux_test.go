package bad_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// mostMemory is less than the line: a process that held it would need more.
const mostMemory = 96 << 20

// A5, B1: 100 MB on one line, as an answer and as rubbish, hold up no other server and are not kept in memory.
func TestLongLine(t *testing.T) {
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.configure(t, servers)
			f := front.open(w, t)
			f.works(t, "mcp__broken__echo", "is up")
			f.goodWorks(t)

			a := f.whileOthersWork(t, "long")
			f.failed(t, a, []int{toolFailed}, []string{"the answer of server broken is too large", "longer than 16 MiB"})
			f.works(t, "mcp__broken__echo", "its next call")

			if a := f.whileOthersWork(t, "stray"); !a.good("broken") {
				t.Errorf("the answer behind the stray line: %q", a.text())
			}
			if peak := peakMemory(t, f.cmd.Process.Pid); peak > mostMemory {
				t.Errorf("usher had %d MiB", peak>>20)
			}
			f.orderly(t)
			w.strayLogged(t)
		})
	}
}

// whileOthersWork makes the broken server write its line and calls the good one until the answer is there.
func (f *front) whileOthersWork(t *testing.T, way string) answer {
	t.Helper()
	done := make(chan answer)
	go func() { done <- f.call(t, "mcp__broken__echo", fmt.Sprintf(`{"text":%q}`, way)) }()
	for n := 0; ; n++ {
		select {
		case a := <-done:
			if n < 3 {
				t.Errorf("only %d calls of the good server got through meanwhile", n)
			}
			return a
		default:
			f.goodWorks(t)
		}
	}
}

func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

func (w *world) strayLogged(t *testing.T) {
	t.Helper()
	for _, e := range w.events(t) {
		if e.Type == "mcp.server.stray_output" && e.Data.Server == "broken" {
			return
		}
	}
	t.Error("the stray line is not in the log")
}
