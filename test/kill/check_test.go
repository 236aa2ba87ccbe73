package kill_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/mcp"
)

func readLines(r io.Reader, each func(n int)) (lines []string) {
	for s := bufio.NewScanner(r); s.Scan(); {
		lines = append(lines, s.Text())
		each(len(lines))
	}
	return lines
}

func (w *world) journalDir() string { return filepath.Join(w.data, "journal") }

// noDescendant waits for the watchdog to end the server and what it started, also what left the process group.
func (w *world) noDescendant(t *testing.T) {
	t.Helper()
	var left []int
	for range 200 {
		if left = w.alive(); len(left) == 0 {
			return
		}
		// The watchdog has 600 ms; nothing else tells from outside that it is done.
		_, _ = syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 10_000})
	}
	t.Errorf("processes %v are still there", left)
}

// alive lists processes of this run: those that have its folder in their command line or environment, and the orphan.
func (w *world) alive() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains(string(line), w.dir+"/") {
			pids = append(pids, pid)
		}
	}
	if b, err := os.ReadFile(w.orphan); err == nil {
		if pid, err := strconv.Atoi(string(b)); err == nil && isSleep(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isSleep(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.HasPrefix(string(line), "sleep\x00")
}

// verify runs both verifiers.
func (w *world) verify(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(w.journalDir()); os.IsNotExist(err) {
		return
	}
	report, err := journal.Verify(w.journalDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
	if out, err := exec.Command("python3", "../verify/verify.py", w.journalDir()).CombinedOutput(); err != nil {
		t.Errorf("verify.py: %v\n%s", err, out)
	}
}

// seen is what the log says of the calls, by the id in their arguments.
type seen struct {
	started, completed map[string]bool
	open               map[string]string // toolCallId → tool
}

func (w *world) read(t *testing.T) seen {
	t.Helper()
	s := seen{started: map[string]bool{}, completed: map[string]bool{}, open: map[string]string{}}
	ids := map[string]string{}
	for e, err := range journal.Read(w.journalDir(), journal.Filter{}) {
		if err != nil {
			if os.IsNotExist(err) {
				break
			}
			t.Errorf("read: %v", err)
			continue
		}
		call := mcp.Text(mcp.Member(e.Data, "toolCallId"))
		switch e.Type {
		case "model.tool_call_requested":
			ids[call] = mcp.Text(mcp.Path(e.Data, "args", "id"))
			s.open[call] = mcp.Text(mcp.Member(e.Data, "tool"))
		case "tool.started":
			s.started[ids[call]] = true
		case "tool.completed":
			s.completed[ids[call]] = true
			delete(s.open, call)
		case "tool.failed":
			delete(s.open, call)
		}
	}
	return s
}

// compare holds the log against the server's own journal and against what the driver printed.
func (w *world) compare(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(w.journalDir()); os.IsNotExist(err) {
		if len(w.answered) > 0 {
			t.Errorf("%d calls were answered, and there is no log", len(w.answered))
		}
		return
	}
	s := w.read(t)
	for _, line := range w.serverSaw(t) {
		name, id, _ := strings.Cut(line, " ")
		if name == "write" && !s.started[id] {
			t.Errorf("the server got %s, and the log has no tool.started for it", id)
		}
	}
	for _, id := range w.answered {
		if !s.completed[id] {
			t.Errorf("%s was answered, and the log has no tool.completed for it", id)
		}
	}
}

func (w *world) serverSaw(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(w.serverLog)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// restart opens the journal as the next process does, and closes it.
func (w *world) restart(t *testing.T) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Options{Dir: w.journalDir(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) noOpenCall(t *testing.T) {
	t.Helper()
	for call, tool := range w.read(t).open {
		t.Errorf("%s (%s) is still open after the next start", call, tool)
	}
}
