package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// G4: Ctrl-C at a prompt that shows nothing leaves a terminal that shows what is typed.
func TestInterruptedSecret(t *testing.T) {
	master, slave, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	shows := func() bool {
		t.Helper()
		now, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return now.Lflag&unix.ECHO != 0
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	signals := make(chan os.Signal, 1) // else it ends the test
	signal.Notify(signals, syscall.SIGINT)
	defer signal.Stop(signals)
	ctx, stop := interruptible(t.Context())
	defer stop()
	done := make(chan error)
	go func() {
		_, err := (&app{in: slave, err: &terminal{File: null}}).secretValue(ctx, "x")
		done <- err
	}()
	for end := time.Now().Add(5 * time.Second); shows(); {
		if time.Now().After(end) {
			t.Fatal("it shows what is typed")
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !shows() {
		t.Error("the terminal hides what is typed")
	}
	_, _ = master.WriteString("\n") // the reader ends
}
