package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Watchdog is the main of the process that stands between us and one child; it
// returns the exit status. A program calls it first thing when its arguments are
// those of [Launcher.Watchdog], with the arguments after them. The process was
// started by [Launcher.Start] and has the child's pipes as 0, 1, 2, the control
// pipe as 3 and the status pipe as 4.
//
// It takes over every orphan below it, so it ends when none of the tree is left
// and not before.
func Watchdog(args []string) int {
	// spawn wants a thread that lives as long as the child.
	runtime.LockOSThread()
	control, status := os.NewFile(3, "control"), os.NewFile(4, "status")
	isolate()
	c, err := readCommand(control)
	if err != nil {
		fmt.Fprintln(os.Stderr, "this command is internal: it is started for each server and not by hand")
		return 2
	}
	pid, err := spawn(c, [3]uintptr{0, 1, 2})
	if err != nil {
		var errno syscall.Errno
		_ = errors.As(err, &errno)
		fmt.Fprintln(status, statusErrno, int(errno))
		return 1
	}
	dropStdio()
	fmt.Fprintln(status, statusPid, pid)

	stop, exited, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, control)
	}()
	go reapAll(pid, status, exited, gone)
	tree{root: os.Getpid(), pgid: pid}.oversee(stop, exited, gone)
	return 0
}

// isolate keeps out what would end the watchdog early or leak into the child.
func isolate() {
	// Caught and not ignored: an ignored signal would stay ignored in the child.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP,
		syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	resetReserved()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	// Whatever our own parent left open; old kernels can't.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	_ = syscall.Chdir("/")
}

// resetReserved sets the two signals that the C library keeps for itself, and that os/signal therefore leaves alone, to
// their default: a parent may have left them ignored.
func resetReserved() {
	var byDefault [4]uint64 // the kernel's struct sigaction; zero is SIG_DFL
	for _, number := range []uintptr{32, 33} {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, number, uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	}
}

// dropStdio gives up the child's pipes, so that they end with the tree. The
// numbers stay in use, lest a file opened later becomes standard error.
func dropStdio() {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || syscall.Dup3(null, fd, 0) != nil {
			_ = syscall.Close(fd)
		}
	}
	if err == nil {
		_ = syscall.Close(null)
	}
}

// reapAll waits for the child and for every orphan. To have no child left is to
// have no descendant left, since each of them would have been handed to us.
func reapAll(child int, status io.Writer, exited, gone chan<- struct{}) {
	defer close(gone)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == child:
			report(status, exitOf(ws))
			close(exited)
		}
	}
}

func report(status io.Writer, e Exit) {
	if e.Signal != 0 {
		fmt.Fprintln(status, statusSignal, int(e.Signal))
		return
	}
	fmt.Fprintln(status, statusExit, e.Code)
}
