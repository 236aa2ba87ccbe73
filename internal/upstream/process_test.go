package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/transport/stdio"
)

// C2, C4: the restart table once more, with real processes and the real waits of the defaults: each start gets a call that kills it.
func TestRestartTableWithProcesses(t *testing.T) {
	dir := t.TempDir()
	bin, journal := filepath.Join(dir, "server"), filepath.Join(dir, "journal")
	if out, err := exec.Command("go", "build", "-o", bin, "../../test/server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	r := new(recorder)
	o := options(kindStdio, stdio.New(stdio.Options{
		Command: bin, Args: []string{"-journal", journal}, Launcher: sandbox.Launcher{Watchdog: []string{os.Args[0], "__watchdog"}},
	}))
	o.Record = r.record
	s := New(t.Context(), o)
	defer s.Close("closed")
	pids := map[int]bool{}
	kill := func(want fault.Kind) {
		t.Helper()
		if err := s.main.await(t.Context(), Up); err != nil {
			t.Fatal(err)
		}
		pid := s.Status().PID
		pids[pid] = true
		if _, err := ask(t.Context(), s, "die"); fault.KindOf(err) != want {
			t.Errorf("process %d: %v, want %s", pid, err, want)
		}
	}
	kill(fault.Restarted)
	kill(fault.Unstable)
	kill(fault.Unstable)
	kill(fault.Unavailable)
	if err := s.main.await(t.Context(), Failed); err != nil {
		t.Fatal(err)
	}
	s.main.work.Wait() // the last events are behind the state
	restarting := func(n int) event.Data { return event.ServerRestarting{Server: "s", Attempt: n} }
	crashed := func(n int) event.Data { return event.ServerCrashed{Server: "s", Attempt: n, ExitCode: code(3)} }
	want := []event.Data{
		crashed(1), restarting(1), crashed(2), restarting(2), crashed(3), restarting(3), crashed(4),
		event.ServerFailed{Server: "s", Reason: "exit status 3"},
	}
	if diff := cmp.Diff(want, r.take(), anyDelay, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if len(pids) != 4 {
		t.Errorf("processes %v", pids)
	}
	for pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
	if saw, err := os.ReadFile(journal); err != nil || string(saw) != "die \ndie \ndie \ndie \n" {
		t.Errorf("the servers saw %q, %v", saw, err)
	}
}
