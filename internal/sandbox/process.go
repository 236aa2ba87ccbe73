package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// stopLimit is the 600 ms of the ladder and slack to hear of its end on a busy
	// machine.
	stopLimit = 1500 * time.Millisecond
	// drainLimit is how long standard error may stay open after the last
	// descendant: only a process outside the tree can hold it then.
	drainLimit = 100 * time.Millisecond
)

// ErrRunning is in the [Exit] of a child that has not exited.
var ErrRunning = errors.New("the process has not exited")

// Exit is how a child ended.
type Exit struct {
	Code   int            // exit status; -1 if there is none
	Signal syscall.Signal // what killed it; 0 if nothing did
	Err    error          // why neither is known
}

// String is such as "exit status 1" or "killed by SIGKILL".
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Signal != 0:
		return "killed by " + signalName(e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// SignalName is such as "SIGKILL"; empty if no signal ended the child.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	return signalName(e.Signal)
}

// Process is a child and all that descends from it. All methods may be called
// concurrently. It holds pipes and goroutines until Stop.
type Process struct {
	stdin, stdout, stderr *os.File
	pid                   int
	exit                  Exit          // set before done is closed
	done                  chan struct{} // the child has exited
	gone                  chan struct{} // nothing of the tree lives
	drained               chan struct{} // standard error was read to its end
	end                   func()        // has the tree ended; called once
	once                  sync.Once
}

func newProcess(s stdio) *Process {
	return &Process{
		stdin: s.stdin, stdout: s.stdout, stderr: s.stderr,
		done: make(chan struct{}), gone: make(chan struct{}), drained: make(chan struct{}),
	}
}

// Stdin is what the child reads. A write fails once the child is gone.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is what the child and its descendants write. It ends when none of them
// has it open, at the latest soon after the child's exit, and fails with
// [os.ErrClosed] after Stop: who wants the last output reads to the end first.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Pid is the process id of the child itself, which is also the id of its group.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the child has exited. What it left behind is ended then,
// without a delay, which takes a moment more.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how the child ended; its Err is [ErrRunning] before Done.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1, Err: ErrRunning}
	}
}

// Stop closes the child's standard input and ends the tree: SIGINT at once,
// SIGTERM after 100 ms, SIGKILL after 500 ms, cut short when nothing is left. It
// returns when no descendant lives and all of standard error was handed on, or,
// should the system be unable to end one, after 1.5 s. It also frees what the
// process holds here, so it is due even after Done. Further calls wait for the
// first one.
func (p *Process) Stop() { p.once.Do(p.stop) }

func (p *Process) stop() {
	_ = p.stdin.Close()
	p.end()
	wait(p.gone, stopLimit)
	wait(p.drained, drainLimit)
	closeAll([]*os.File{p.stdout, p.stderr})
}

// wait reports whether c was closed in time.
func wait(c <-chan struct{}, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Process) exited(e Exit) {
	p.exit = e
	close(p.done)
}

// drain reads standard error to its end whatever the writer does, since a child
// with a full pipe stands still.
func (p *Process) drain(w io.Writer) {
	defer close(p.drained)
	if p.stderr == nil {
		return
	}
	buf := make([]byte, 4<<10)
	for {
		n, err := p.stderr.Read(buf)
		if n > 0 && w != nil {
			if _, werr := w.Write(buf[:n]); werr != nil {
				w = nil
			}
		}
		if err != nil {
			return
		}
	}
}
