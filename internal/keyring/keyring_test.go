package keyring

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/keyring/keyringtest"
)

const childVar = "USHER_KEYRING_TEST"

// TestMain lets the test binary be a program in another session: the library keeps one bus for a process.
func TestMain(m *testing.M) {
	if op := os.Getenv(childVar); op != "" {
		os.Exit(child(op))
	}
	os.Exit(m.Run())
}

func child(op string) int {
	r, err := Open()
	if err == nil {
		err = map[string]func(*Ring) error{"use": use, "get": get, "list": list, "concurrently": concurrently}[op](r)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// in runs an operation in a session and returns what it says.
func in(t *testing.T, env []string, op string) (string, bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, childVar+"="+op, "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), err == nil
}

func get(*Ring) error { _, err := Lookup("github-token"); return err }

func list(r *Ring) error { _, err := r.List(); return err }

func use(r *Ring) error {
	expect := func(name, want string, wantErr error) error {
		if got, err := r.Get(name); got != want || !errors.Is(err, wantErr) {
			return fmt.Errorf("%s is %q, %v", name, got, err)
		}
		return nil
	}
	listed := func(want ...string) error {
		if got, err := r.List(); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("list %q, %v", got, err)
		}
		return nil
	}
	long := strings.Repeat("x", MaxSecret-2) + "\né"[:2]
	for _, step := range []func() error{
		func() error { return listed() },
		func() error { return expect("a", "", ErrNotFound) },
		func() error { return r.Set("a", "one") },
		func() error { return r.Set("b/c@d", long) },
		func() error { return expect("a", "one", nil) },
		func() error { return expect("b/c@d", long, nil) },
		func() error { return r.Set("a", "two") },
		func() error { return expect("a", "two", nil) },
		func() error { return listed("a", "b/c@d") },
		func() error { return r.Delete("a") },
		func() error { return expect("a", "", ErrNotFound) },
		func() error { return listed("b/c@d") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := r.Delete("a"); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("deleted again: %w", err)
	}
	for _, bad := range []string{"", strings.Repeat("x", MaxSecret+1), "a\x00b"} {
		if err := r.Set("bad", bad); err == nil || len(err.Error()) > 100 {
			return fmt.Errorf("%d bytes: %w", len(bad), err)
		}
	}
	return nil
}

func concurrently(r *Ring) error {
	var wg sync.WaitGroup
	all := make([]error, 8)
	for i := range all {
		wg.Go(func() {
			name := fmt.Sprint("n", i)
			all[i] = r.Set(name, "v-"+name)
			if got, err := r.Get(name); err != nil || got != "v-"+name {
				all[i] = errors.Join(all[i], fmt.Errorf("%s: %q, %w", name, got, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(all...)
}

// G4: with a real keyring.
func TestKeyring(t *testing.T) {
	env := keyringtest.Start(t)
	for _, op := range []string{"use", "concurrently"} {
		if out, ok := in(t, env, op); !ok {
			t.Errorf("%s: %s", op, out)
		}
	}
}

// Without a session, nothing is started, and the message says what to do.
func TestNoSession(t *testing.T) {
	dir := t.TempDir()
	launched := dir + "/launched"
	if err := os.WriteFile(dir+"/dbus-launch", []byte("#!/bin/sh\ntouch "+launched+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + ":" + os.Getenv("PATH")
	for _, env := range [][]string{{path}, {path, "DBUS_SESSION_BUS_ADDRESS=autolaunch:"}, {path, "XDG_RUNTIME_DIR=" + dir}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(env, childVar+"=get")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "no desktop session with a keyring here") {
			t.Errorf("%q: %s", env[1:], out)
		}
	}
	if _, err := os.Stat(launched); err == nil {
		t.Error("a message bus was started")
	}
}

func TestNoKeyringInTheSession(t *testing.T) {
	env := keyringtest.Bus(t)
	for _, op := range []string{"get", "list"} {
		if out, ok := in(t, env, op); ok || !strings.Contains(out, "no keyring runs in this session") {
			t.Errorf("%s: %s", op, out)
		}
	}
}

// Nobody is there to type the password.
func TestLockedKeyring(t *testing.T) {
	env := keyringtest.Locked(t)
	if out, ok := in(t, env, "get"); ok || !strings.Contains(out, "gnome-keyring-daemon --unlock") {
		t.Errorf("get: %s", out)
	}
}

func TestSilentKeyring(t *testing.T) {
	release := make(chan bool)
	_, err := within(time.Millisecond, func() (string, error) { <-release; return "", nil })
	close(release)
	if err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Error(err)
	}
}
