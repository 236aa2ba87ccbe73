package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	groupPoll  = 5 * time.Millisecond
	groupLimit = 2 * time.Second // then a member that can't be killed is given up
)

// startDirect starts c as our own child. Only its process group is ended.
func startDirect(p *Process, c command, files [3]*os.File) error {
	held := new(child)
	stop, gone := make(chan struct{}), make(chan struct{})
	p.end = func() { close(stop) }
	started := make(chan error)
	go p.reap(c, [3]uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}, held, started, gone)
	if err := <-started; err != nil {
		return startError(c.argv[0], err)
	}
	go func() {
		defer close(p.gone)
		tree{pgid: p.pid, child: held}.oversee(stop, p.done, gone)
	}()
	return nil
}

// reap starts the child and waits for it, on one thread as spawn asks. The other
// members of the group aren't ours to wait for, so they are polled.
func (p *Process) reap(c command, stdio [3]uintptr, held *child, started chan<- error, gone chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := spawn(c, stdio)
	p.pid = pid
	started <- err
	if err != nil {
		return
	}
	p.exited(held.wait(pid))
	ticker := time.NewTicker(groupPoll)
	defer ticker.Stop()
	for limit := time.Now().Add(groupLimit); (tree{pgid: pid}).alive() && time.Now().Before(limit); {
		<-ticker.C
	}
	close(gone)
}

func waitFor(pid int) Exit {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		switch err {
		case nil:
			return exitOf(ws)
		case syscall.EINTR:
		default:
			return Exit{Code: -1, Err: fmt.Errorf("wait for process %d: %w", pid, err)}
		}
	}
}
