package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// watched is our side of one watchdog.
type watched struct {
	proc    *os.Process
	control *os.File // its end has the watchdog end the tree
	status  *os.File
	lines   *bufio.Reader // of status
}

func startWatched(ctx context.Context, argv []string, p *Process, c command, child [3]*os.File) error {
	w, err := startWatchdog(argv, c.argv[0], child)
	if err != nil {
		return &StartError{c.argv[0], fmt.Sprintf("its watchdog %s can't be started (%v)", argv[0], err),
			"check that the program is still installed and that more processes may be started", err}
	}
	if p.pid, err = w.handshake(ctx, c); err != nil {
		w.abandon()
		return err
	}
	p.end = func() { _ = w.control.Close() }
	go w.follow(p)
	return nil
}

// startWatchdog gives it no part of our environment nor of the child's: a
// variable meant for the child (LD_PRELOAD, GODEBUG) must not change it.
func startWatchdog(argv []string, name string, child [3]*os.File) (*watched, error) {
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlR.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		_ = controlW.Close()
		return nil, err
	}
	defer statusW.Close()
	proc, err := os.StartProcess(argv[0], append(slices.Clone(argv), name), &os.ProcAttr{
		// A program built for race detection sleeps for a second before it exits.
		Env:   []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"},
		Files: append(child[:], controlR, statusW),
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		closeAll([]*os.File{controlW, statusR})
		return nil, err
	}
	return &watched{proc, controlW, statusR, bufio.NewReaderSize(statusR, maxStatus)}, nil
}

// handshake hands the command over and returns the pid of the child.
func (w *watched) handshake(ctx context.Context, c command) (int, error) {
	name := c.argv[0]
	message, err := c.encode()
	if err != nil {
		return 0, &StartError{name, err.Error(), "shorten the arguments or the environment of the entry", syscall.E2BIG}
	}
	release := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_ = w.control.SetWriteDeadline(past)
		_ = w.status.SetReadDeadline(past)
	})
	_, werr := w.control.Write(message)
	kind, n, err := readStatus(w.lines)
	if !release() {
		return 0, fmt.Errorf("start %q: %w", name, context.Cause(ctx))
	}
	switch {
	case err == nil && kind == statusPid && n > 0:
		return n, nil
	case err == nil && kind == statusErrno:
		return 0, startError(name, syscall.Errno(n))
	}
	return 0, &StartError{name, "its watchdog ended or made no sense before the command was started",
		"check that the watchdog's command line runs this same program", errors.Join(werr, err)}
}

// abandon ends a watchdog whose handshake failed. It may have started the child
// just now, so it gets the time to end it.
func (w *watched) abandon() {
	_ = w.control.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.proc.Wait()
	}()
	if !wait(ended, stopLimit) {
		_ = w.proc.Kill()
		<-ended
	}
	_ = w.status.Close()
}

// follow hears how the child ended and waits until the tree is gone.
func (w *watched) follow(p *Process) {
	kind, n, err := readStatus(w.lines)
	switch {
	case err == nil && kind == statusExit:
		p.exited(Exit{Code: n})
	case err == nil && kind == statusSignal:
		p.exited(Exit{Code: -1, Signal: syscall.Signal(n)})
	default:
		p.exited(w.lost(p.pid))
	}
	_, _ = w.proc.Wait()
	_ = w.status.Close()
	close(p.gone)
}

// lost is for a watchdog that someone killed. The child dies of that by its
// parent-death signal; of its descendants only those in its group can be found.
func (w *watched) lost(pid int) Exit {
	_ = w.proc.Kill()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return Exit{Code: -1, Err: errors.New("killed together with its watchdog process, which ended unexpectedly")}
}
