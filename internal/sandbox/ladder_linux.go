package sandbox

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rung is a signal and how long it is given to work.
type rung struct {
	sig  syscall.Signal
	wait time.Duration
}

// ladder is the way down: 600 ms in all, 100 of them for the kernel to end what
// was killed. The last rung is repeated, for what forked meanwhile.
func ladder() [3]rung {
	return [3]rung{
		{syscall.SIGINT, 100 * time.Millisecond},
		{syscall.SIGTERM, 400 * time.Millisecond},
		{syscall.SIGKILL, 2 * time.Millisecond},
	}
}

const maxKillWait = 100 * time.Millisecond

// oversee ends the tree from the top of the ladder when stop closes, and at once
// by SIGKILL when the child has exited on its own. It returns when gone closes.
// An exit while the ladder is in use leaves the others their time on it.
func (t tree) oversee(stop, exited, gone <-chan struct{}) {
	rungs := ladder()
	at, last := 0, len(rungs)-1
	var timer <-chan time.Time
	for {
		select {
		case <-gone:
			return
		case <-exited:
			exited = nil
			if stop == nil {
				continue
			}
			stop, at = nil, last // no more to stop
		case <-stop:
			stop = nil
		case <-timer:
		}
		t.signal(rungs[at].sig)
		timer = time.After(rungs[at].wait)
		if at < last {
			at++
		} else {
			rungs[last].wait = min(2*rungs[last].wait, maxKillWait)
		}
	}
}

// spawn starts c in a process group of its own. The caller stays on one thread
// that lives at least as long as the child: the parent-death signal counts from
// the end of the thread, not of the process.
func spawn(c command, stdio [3]uintptr) (pid int, err error) {
	return syscall.ForkExec(c.path, c.argv, &syscall.ProcAttr{
		Dir:   c.dir,
		Env:   c.env,
		Files: stdio[:],
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

func exitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Code: -1, Signal: ws.Signal()}
	}
	return Exit{Code: ws.ExitStatus()}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}
