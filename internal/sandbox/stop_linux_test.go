package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// brood is a shell that ignores all it can, with a child in its group, one in a
// session of its own and a daemon forked twice; all ignore what they can too. It
// prints the three ids and then waits for its input to end or, with "stay", for
// nothing.
const brood = `
	trap '' INT TERM HUP
	sleep 1000 & echo $!
	setsid sh -c 'echo $$; exec sleep 1001' &
	( setsid sh -c 'echo $$; exec sleep 1002' & )
	[ "$1" = stay ] && while :; do sleep 1003; done
	read line`

// B9, case-004
func TestStopClimbsTheLadder(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		log := filepath.Join(t.TempDir(), "log")
		p := start(t, l, Spec{Command: "/proc/self/exe", Args: []string{"__record", log}})
		pids := readPids(t, bufio.NewReader(p.Stdout()), 1)
		if pids[0] != p.Pid() {
			t.Errorf("pid %d, the child says %d", p.Pid(), pids[0])
		}
		began := time.Now()
		p.Stop()
		took := time.Since(began)
		got, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		signals := strings.ReplaceAll(string(got), "EOF\n", "") // the end of input races with the first
		if signals != "SIGINT\nSIGTERM\n" || len(signals) == len(got) {
			t.Errorf("the child saw %q", got)
		}
		if e := p.Exit(); e.Signal != syscall.SIGKILL || e.String() != "killed by SIGKILL" {
			t.Errorf("exit %v", e)
		}
		if took < 500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		wantGone(t, p.Pid())
	})
}

// B9: the ladder also is for those outside the group, each rung once.
func TestStopSignalsDaemonsInOrder(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, withWatchdog(), shell(`( setsid "$1" __record "$2" & ); read line; sleep 1000`, exe, log))
	pids := readPids(t, bufio.NewReader(p.Stdout()), 1)
	p.Stop()
	got, err := os.ReadFile(log)
	if text := string(got); err != nil || strings.ReplaceAll(text, "EOF\n", "") != "SIGINT\nSIGTERM\n" {
		t.Errorf("the daemon saw %q, %v", got, err)
	}
	wantGone(t, append(pids, p.Pid())...)
}

// B9: a child that obeys isn't kept waiting.
func TestStopIsQuickForTheObedient(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		p := start(t, l, Spec{Command: "/bin/cat"})
		began := time.Now()
		p.Stop()
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		wantGone(t, p.Pid())
	})
}

// B9, case-016
func TestStopEndsEveryDescendant(t *testing.T) {
	before := resources(t)
	p := start(t, withWatchdog(), shell(brood, "stay"))
	pids := append(readPids(t, bufio.NewReader(p.Stdout()), 3), p.Pid())
	var wg sync.WaitGroup
	for range 8 { // idempotent, and each call returns only when all is over
		wg.Go(func() {
			p.Stop()
			wantGone(t, pids...)
		})
	}
	wg.Wait()
	p.Stop()
	if e := p.Exit(); e.Signal != syscall.SIGKILL {
		t.Errorf("exit %v", e)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading after Stop: %v", err)
	}
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing after Stop: %v", err)
	}
	before.compare(t)
}

// B9: what a child leaves behind when it exits goes too, which ends its output.
func TestExitEndsEveryDescendant(t *testing.T) {
	p := start(t, withWatchdog(), shell(brood))
	out := bufio.NewReader(p.Stdout())
	pids := readPids(t, out, 3)
	died := watchDeath(t, pids...)
	_ = p.Stdin().Close()
	if rest, err := io.ReadAll(out); len(rest) != 0 || err != nil {
		t.Errorf("then %q, %v", rest, err)
	}
	await(t, "exit", p.Done())
	died()
	await(t, "end of the tree", p.gone)
	wantGone(t, append(pids, p.Pid())...)
	if e := p.Exit(); e.String() != "exit status 1" {
		t.Errorf("exit %v", e)
	}
}

// Without a watchdog the group at least is ended, by Stop and by an exit.
func TestDirectEndsTheGroup(t *testing.T) {
	const script = `trap '' INT TERM HUP; sleep 1000 & echo $!; [ "$1" = stay ] && sleep 1000; read line`
	p := start(t, Launcher{}, shell(script, "stay"))
	died := watchDeath(t, readPids(t, bufio.NewReader(p.Stdout()), 1)...)
	p.Stop()
	died()
	wantGone(t, p.Pid())

	p = start(t, Launcher{}, shell(script))
	died = watchDeath(t, readPids(t, bufio.NewReader(p.Stdout()), 1)...)
	_ = p.Stdin().Close()
	died()
	await(t, "exit", p.Done())
	await(t, "end of the group", p.gone)
}

// B9, case-025: the gateway is killed without a warning; nothing below it survives.
func TestGatewayKilled(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "__gateway", `echo $$; echo $PPID; `+strings.Replace(brood, "$1", "stay", 1))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, bufio.NewReader(stdout), 5) // the child, its watchdog, the brood
	died := watchDeath(t, pids...)
	for _, pid := range pids {
		if !exists(pid) {
			t.Errorf("process %d isn't there to begin with", pid)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	died()
	for _, pid := range slices.Delete(pids, 1, 2) { // the watchdog is for process 1 to wait for
		wantGone(t, pid)
	}
}

// A watchdog isn't ended by what ends programs; if it is killed, the child dies,
// what is left of its group too, and we are told.
func TestWatchdogKilled(t *testing.T) {
	p := start(t, withWatchdog(), shell(`trap '' INT TERM; sleep 1000 & echo $!; echo $PPID; read line; echo $line; sleep 1000`))
	out := bufio.NewReader(p.Stdout())
	pids := readPids(t, out, 2)
	watchdog := pids[1]
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(watchdog, s); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.WriteString(p.Stdin(), "still here\n")
	if line, err := out.ReadString('\n'); line != "still here\n" {
		t.Fatalf("%q, %v", line, err)
	}
	died := watchDeath(t, pids[0], p.Pid())
	_ = syscall.Kill(watchdog, syscall.SIGKILL)
	died()
	await(t, "exit", p.Done())
	if e := p.Exit(); e.Err == nil || !strings.Contains(e.String(), "watchdog") {
		t.Errorf("exit %v", e)
	}
	await(t, "end of the tree", p.gone)
}

// B9: nothing is left behind, neither here nor outside.
func TestManyAtOnce(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l Launcher) {
		start(t, l, shell(`:`)).Stop() // what the runtime opens once
		before := resources(t)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				var ring Ring
				s := shell(`echo $$ >&2; echo $$; read line`)
				s.Stderr = &ring
				p, err := l.Start(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					_, _ = bufio.NewReader(p.Stdout()).ReadString('\n')
				}
				p.Stop()
				if !wait(p.gone, 10*time.Second) { // a busy machine may need more than Stop's limit
					t.Error("the tree lives on")
				}
				wantGone(t, p.Pid())
			})
		}
		wg.Wait()
		before.compare(t)
	})
}

// case-017: a descendant that hands its pipes to a stranger doesn't hold up Stop.
func TestPipeHeldByStranger(t *testing.T) {
	var ring Ring
	p := start(t, withWatchdog(), Spec{Command: "/bin/cat", Stderr: &ring})
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", p.Pid()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	began := time.Now()
	p.Stop()
	if took := time.Since(began); took > stopLimit {
		t.Errorf("it took %v", took)
	}
	await(t, "the end of draining", p.drained)
}

// A daemon that keeps forking itself into new sessions is caught in the end.
func TestStopCatchesOneThatRunsAway(t *testing.T) {
	script := write(t, filepath.Join(t.TempDir(), "run"), "trap '' INT TERM\nsetsid sh \"$0\" &\n", 0o600)
	p := start(t, withWatchdog(), shell(`sh "$1" & sh "$1" & echo $$; read line; sleep 1000`, script))
	readPids(t, bufio.NewReader(p.Stdout()), 1)
	p.Stop()
	await(t, "end of the tree", p.gone)
}
