package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain makes the test binary also the watchdog and the programs that the
// tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__watchdog":
			os.Exit(Watchdog(os.Args[2:]))
		case "__record":
			recordSignals(os.Args[2])
		case "__gateway":
			beGateway(os.Args[2:])
		}
	}
	goleak.VerifyTestMain(m)
}

// recordSignals appends the name of all that comes to a file, and stays.
func recordSignals(path string) {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(3)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	fmt.Println(os.Getpid())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(log, "EOF")
	}()
	for s := range signals {
		fmt.Fprintln(log, unix.SignalName(s.(syscall.Signal)))
	}
}

// beGateway starts a shell script as its server, passes on what it prints, and
// lives until it is killed.
func beGateway(args []string) {
	p, err := withWatchdog().Start(context.Background(), shell(args[0]))
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	_, _ = io.Copy(os.Stdout, p.Stdout())
	select {}
}

func withWatchdog() Launcher {
	return Launcher{Watchdog: []string{"/proc/self/exe", "__watchdog"}}
}

// launchers are both ways to start a child.
func launchers() map[string]Launcher {
	return map[string]Launcher{"watchdog": withWatchdog(), "direct": {}}
}

func eachLauncher(t *testing.T, f func(*testing.T, Launcher)) {
	for name, l := range launchers() {
		t.Run(name, func(t *testing.T) { f(t, l) })
	}
}

func shell(script string, args ...string) Spec {
	return Spec{Command: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...), Env: Environ(os.Environ(), nil)}
}

// start starts s and stops it when the test ends.
func start(t *testing.T, l Launcher, s Spec) *Process {
	t.Helper()
	p, err := l.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// readPids reads n lines of one process id each.
func readPids(t *testing.T, r *bufio.Reader, n int) []int {
	t.Helper()
	pids := make([]int, n)
	for i := range pids {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d of %d process ids: %q, %v", i, n, line, err)
		}
		if pids[i], err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
	}
	return pids
}

// exists also holds for a zombie.
func exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

func wantGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if exists(pid) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			t.Errorf("process %d still exists: %s", pid, stat)
		}
	}
}

// watchDeath returns a function that waits until each of pids has died. To be
// called while they live, so that no id can be mistaken for a later one.
func watchDeath(t *testing.T, pids ...int) (await func()) {
	t.Helper()
	fds := make([]unix.PollFd, len(pids))
	for i, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		fds[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	return func() {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for i := range fds {
			for {
				n, err := unix.Poll(fds[i:i+1], max(0, int(time.Until(deadline).Milliseconds())))
				if err == unix.EINTR {
					continue
				}
				if n != 1 {
					t.Errorf("process %d outlived its end (%v)", pids[i], err)
				}
				break
			}
		}
	}
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	if !wait(c, 10*time.Second) {
		t.Fatalf("%s did not come", what)
	}
}
