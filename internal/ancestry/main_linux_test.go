package ancestry

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/sandbox"
)

const (
	watchdogArg = "__watchdog"
	behindArg   = "__behind"
	dialArg     = "__dial"
)

// TestMain makes the test binary also the watchdog and what the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case watchdogArg:
			os.Exit(sandbox.Watchdog(os.Args[2:]))
		case behindArg:
			p, err := Behind(os.Stdin)
			fmt.Println(p.PID, err)
			os.Exit(0)
		case dialArg:
			dialAndStay(os.Args[2])
		}
	}
	goleak.VerifyTestMain(m)
}

// dialAndStay connects, and stays until its input ends.
func dialAndStay(address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer c.Close()
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// program is a process whose output is read line by line.
type program struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// run starts a program that the end of the test ends, with all of its session.
func run(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(name, args...)}
	p.Stderr = t.Output()
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
		_ = p.Wait()
	})
	return p
}

// pid reads the id of a process that the end of the test ends.
func pid(t *testing.T, from *bufio.Reader) int {
	t.Helper()
	text, err := from.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGKILL) })
	return n
}

func of(t *testing.T, pid int) Process {
	t.Helper()
	p, err := Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// server starts a shell script as usher does a server.
func server(t *testing.T, script string) (*sandbox.Process, *bufio.Reader) {
	t.Helper()
	l := sandbox.Launcher{Watchdog: []string{"/proc/self/exe", watchdogArg}}
	p, err := l.Start(context.Background(), sandbox.Spec{Command: "sh", Args: []string{"-c", script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop() })
	return p, bufio.NewReader(p.Stdout())
}
