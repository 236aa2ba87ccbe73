package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// typing CODE TEXT COMMAND…: runs a command in a terminal of 80 columns, types TEXT and Enter as soon as it asks, and wants
// the exit code. What the terminal showed is in the file "screen". A TEXT of @FILE… is copied over .mcp.json before yes is
// typed: somebody changes the file while it is looked at.
func typing(ts *testscript.TestScript, neg bool, args []string) {
	master, slave, err := openTerminal()
	ts.Check(err)
	defer master.Close()
	cmd := exec.Command(args[2], args[3:]...)
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[2])); err == nil {
			cmd.Path, cmd.Err = filepath.Join(dir, args[2]), nil
			break
		}
	}
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(slave.Close())
	text := args[1]
	shown := watchTerminal(master, func() {
		if file, ok := strings.CutPrefix(text, "@"); ok {
			ts.Check(os.WriteFile(ts.MkAbs(".mcp.json"), []byte(ts.ReadFile(file)), 0o600))
			text = "y"
		}
		_, _ = master.WriteString(text + "\n")
	})
	err = cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("screen"), <-shown, 0o600))
	code := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d: %s", code, ts.ReadFile("screen"))
	}
}

// watchTerminal reads until the other end is closed, and calls asked once, when a question is there.
func watchTerminal(master *os.File, asked func()) <-chan []byte {
	done := make(chan []byte, 1)
	go func() {
		var all bytes.Buffer
		once, buf := false, make([]byte, 4096)
		for {
			_ = master.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := master.Read(buf)
			all.Write(buf[:n])
			if !once && bytes.Contains(all.Bytes(), []byte("no (default)")) {
				once = true
				asked()
			}
			if err != nil { // EIO: nobody has it open any more
				done <- all.Bytes()
				return
			}
		}
	}()
	return done
}

func openTerminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 80}); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, slave, err
}
