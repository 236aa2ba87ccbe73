//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"syscall"
)

func unsupported(c command) error {
	return &StartError{c.argv[0], "servers of type stdio are not supported on this system yet",
		"use Linux, or a server with a url", errors.ErrUnsupported}
}

func startDirect(_ *Process, c command, _ [3]*os.File) error { return unsupported(c) }

func startWatched(_ context.Context, _ []string, _ *Process, c command, _ [3]*os.File) error {
	return unsupported(c)
}

// Watchdog does nothing on this system.
func Watchdog(_ []string) int { return 2 }

func signalName(s syscall.Signal) string { return s.String() }
