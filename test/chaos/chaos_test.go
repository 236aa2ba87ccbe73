package chaos_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// build makes the two programs: the server, which needs no race detector, and the driver with the given tags.
func build(t *testing.T, tags string) (driver, server string) {
	t.Helper()
	dir := t.TempDir()
	driver, server = filepath.Join(dir, "driver"), filepath.Join(dir, "server")
	for _, args := range [][]string{
		{"build", "-race", "-tags", tags, "-o", driver, "./driver"}, {"build", "-o", server, "./server"},
	} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	return driver, server
}

// drive runs the driver. Its folders are the test's.
func drive(t *testing.T, limit time.Duration, driver string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), driver, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A5, B9, C2, C4, C5, C6, D1, H6: the committed seeds. `make chaos` runs more.
func TestSeeds(t *testing.T) {
	driver, server := build(t, "")
	out, err := drive(t, 4*time.Minute, driver, "-root", "../..", "-server", server, "-seeds", "testdata/seeds.txt")
	t.Log(out)
	if err != nil {
		t.Error(err)
	}
}

// C4, case-059: a build that sends calls again after a crash fails the same run.
func TestReplayIsCaught(t *testing.T) {
	driver, server := build(t, "usher_replay")
	out, err := drive(t, time.Minute, driver, "-root", "../..", "-server", server, "-seed", "1", "-n", "4")
	if err == nil {
		t.Fatalf("nobody noticed that calls ran twice:\n%s", out)
	}
	if !regexp.MustCompile(`ran \d times at`).MatchString(out) {
		t.Errorf("it failed for another reason: %v\n%s", err, out)
	}
}
