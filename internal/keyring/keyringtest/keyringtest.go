// Package keyringtest starts a real keyring for tests: a message bus and a GNOME Keyring of their own, in folders of their
// own, so that no test sees what the user keeps.
//
// It is for tests only.
package keyringtest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Bus starts a message bus without a keyring and returns the variables that lead to it. It ends with the test.
func Bus(t testing.TB) []string {
	t.Helper()
	home := t.TempDir()
	run, err := os.MkdirTemp("", "usher-bus") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "DISPLAY="}
	conf := filepath.Join(run, "bus.conf") // no service is started by being asked for
	text := `<busconfig><type>session</type><listen>unix:path=` + filepath.Join(run, "bus") + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	bus := exec.Command("dbus-daemon", "--nofork", "--print-address", "--config-file="+conf)
	bus.Env = append(os.Environ(), env...)
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, bus)
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("dbus-daemon says no address: ", err)
	}
	return append(env, "DBUS_SESSION_BUS_ADDRESS="+strings.TrimSpace(address))
}

// Start starts a bus with an unlocked keyring on it, and returns the variables that lead to them. Both end with the test.
func Start(t testing.TB) []string {
	t.Helper()
	env := Bus(t)
	daemon(t, env, "--unlock")
	return env
}

// Locked starts a bus with a keyring on it that nobody has unlocked, and returns the variables that lead to them.
func Locked(t testing.TB) []string {
	t.Helper()
	env := Bus(t)
	daemon(t, env)
	return env
}

func daemon(t testing.TB, env []string, args ...string) {
	t.Helper()
	daemon := exec.Command("gnome-keyring-daemon", append([]string{"--foreground", "--components=secrets"}, args...)...)
	daemon.Env = append(os.Environ(), env...)
	daemon.Stdin = strings.NewReader("password\n")
	start(t, daemon)
	if err := await(strings.TrimPrefix(env[len(env)-1], "DBUS_SESSION_BUS_ADDRESS="), "org.freedesktop.secrets"); err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; install the packages gnome-keyring and dbus", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// await returns when somebody has the name on the bus. It doesn't ask for the name, which could start somebody.
func await(address, name string) error {
	conn, err := dbus.Connect(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	if err := conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, name)); err != nil {
		return err
	}
	var owned bool
	if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned); err != nil || owned {
		return err
	}
	for s := range signals {
		if len(s.Body) == 3 && s.Body[0] == name && s.Body[2] != "" {
			return nil
		}
	}
	return errors.New("the bus has ended")
}
