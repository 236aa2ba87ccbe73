// Package kill_test kills Usher with SIGKILL, at named points and at random ones, and compares its log with what others saw.
package kill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/event/journal"
)

// points are all places where the driver is killed. A new killpoint.At belongs here; one that the driver never passes
// fails the test.
var points = []string{
	"journal.open.locked", "journal.open.created", "journal.open.spool", "journal.open.started",
	"journal.append.before", "journal.append.encoded", "journal.append.copied", "journal.append.queued",
	"journal.write.before", "journal.write.half", "journal.write.after", "journal.spool.written", "journal.sync.before", "journal.sync.after",
	"journal.rotate.before", "journal.rotate.created", "journal.rotate.checkpointed", "journal.rotate.sealed",
	"journal.recover.scanned", "journal.recover.cut", "journal.recover.half", "journal.recover.replayed", "journal.recover.call", "journal.recover.tool", "journal.recover.session",
	"journal.recover.checkpoint.before", "journal.recover.checkpoint.after", "journal.recover.sealed",
	"journal.close.before", "journal.close.ended", "journal.close.flushed",
	"session.started", "session.ended", "host.closing", "host.closed",
	"server.connecting", "server.connected", "server.listed", "server.answered",
	"call.begin", "call.resolved", "call.decided", "call.sending", "call.started.queued", "call.started.durable",
	"call.performed", "call.finishing", "call.finished.queued", "call.finished.durable",
}

// only says which durability passes a point; most are passed with both.
func only(point string) string {
	switch {
	case strings.HasPrefix(point, "journal.sync."), point == "journal.recover.cut":
		return journal.DurabilityFull
	case strings.HasPrefix(point, "journal.spool."), point == "journal.recover.half", point == "journal.recover.replayed":
		return journal.DurabilityProcess
	}
	return ""
}

// H5, H6, B9: kill -9 at every named point.
func TestKillAtNamedPoints(t *testing.T) {
	if len(points) < 40 {
		t.Fatalf("only %d points", len(points))
	}
	b := build(t)
	for i, point := range points {
		durability := only(point)
		if durability == "" {
			durability = [...]string{journal.DurabilityProcess, journal.DurabilityFull}[i%2]
		}
		t.Run(point+"/"+durability, func(t *testing.T) {
			t.Parallel()
			w := b.world(t, durability)
			if strings.HasPrefix(point, "journal.recover.") {
				w.leaveWreck(t)
			}
			at := point
			if strings.HasPrefix(point, "call.") || strings.HasPrefix(point, "journal.append") || strings.HasPrefix(point, "journal.write") && durability == journal.DurabilityFull {
				at += ":" + strconv.Itoa(20+13*i%200) // in the middle of things
			}
			w.run(t, 1000, "USHER_KILL_AT="+at, nil)
			w.check(t)
		})
	}
}

// H5, H6, B9: kill -9 at random moments in the middle of 1,000 calls.
func TestKillAtRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("SEED=%d replays this", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := build(t)
	for i := range 10 {
		after := 1 + random.IntN(900)
		t.Run(fmt.Sprintf("%d/after_%d_answers", i, after), func(t *testing.T) {
			t.Parallel()
			w := b.world(t, [...]string{journal.DurabilityProcess, journal.DurabilityFull}[i%2])
			w.run(t, 2000, "", func(answered int) bool { return answered >= after })
			w.check(t)
		})
	}
}

type binaries struct{ driver, server string }

func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	b := binaries{filepath.Join(dir, "driver"), filepath.Join(dir, "server")}
	for out, args := range map[string][]string{
		b.driver: {"-tags", "killpoints", "./driver"},
		b.server: {"../server"},
	} {
		cmd := exec.Command("go", append([]string{"build", "-o", out}, args...)...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, msg)
		}
	}
	return b
}

// world is one run: its folders, and what was seen from outside.
type world struct {
	binaries
	durability                   string
	dir, data, serverLog, orphan string
	answered                     []string
}

func (b binaries) world(t *testing.T, durability string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{binaries: b, durability: durability, dir: dir, data: filepath.Join(dir, "data"), serverLog: filepath.Join(dir, "server.log"), orphan: filepath.Join(dir, "orphan.pid")}
	c, err := json.Marshal(map[string]any{
		"mcpServers":  map[string]any{"test": map[string]any{"command": b.server, "args": []string{"-journal", w.serverLog, "-orphan", w.orphan}}},
		"permissions": map[string]any{"allow": []string{"mcp.test.*"}},
		"log":         map[string]any{"durability": durability},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.config.json"), c, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// run starts the driver and waits for its end. It is killed by itself at a point, or from here when until says so.
func (w *world) run(t *testing.T, calls int, killAt string, until func(answered int) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.driver, "-config", filepath.Join(w.dir, "mcp.config.json"), "-data", w.data, "-dir", w.dir,
		"-calls", strconv.Itoa(calls), "-rotate", "65536")
	cmd.Env = append(os.Environ(), killAt)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	w.answered = readLines(out, func(n int) {
		if until != nil && !killed && until(n) {
			killed = true
			_ = cmd.Process.Kill()
		}
	})
	err = cmd.Wait()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGKILL || ctx.Err() != nil {
		t.Fatalf("the driver was not killed at %s: %v\n%s", killAt, err, stderr.String())
	}
}

// leaveWreck kills a driver in the middle of things, so that the next one has everything to recover: with full
// durability half a line, else a spool.
func (w *world) leaveWreck(t *testing.T) {
	t.Helper()
	if w.durability == journal.DurabilityProcess {
		w.run(t, 300, "USHER_KILL_AT=journal.append.queued:80", nil) // some of it is in the spool
		return
	}
	for n := 80; n < 90; n++ {
		w.run(t, 300, "USHER_KILL_AT=journal.write.half:"+strconv.Itoa(n), nil)
		files, err := filepath.Glob(filepath.Join(w.journalDir(), "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		last, err := os.ReadFile(files[len(files)-1])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(string(last), "\n") {
			return
		}
	}
	t.Fatal("no kill left half a line")
}

// check compares what the log says with what the server saw and what was answered, before and after the next start.
func (w *world) check(t *testing.T) {
	t.Helper()
	w.noDescendant(t)
	w.verify(t)
	if w.durability == journal.DurabilityFull { // else a part may be in the spool
		w.compare(t)
	}
	w.restart(t)
	w.verify(t)
	w.compare(t)
	w.noOpenCall(t)
}
