package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
)

const (
	ledgerFile = "USHER_TEST_LEDGER"
	ledgerDoes = "USHER_TEST_LEDGER_DOES"
	racers     = 50
)

// ledgerChild is a process of its own that uses a ledger together with others.
func ledgerChild(path, does string) error {
	ctx := context.Background()
	l, err := sqlite.OpenLedger(ctx, path, sqlite.Options{Notice: func(text string) { fmt.Println("notice", text) }})
	if err != nil {
		return err
	}
	defer l.Close()
	o := approval.Options{Store: l.Approvals(), Wait: time.Minute, Elsewhere: true}
	if does == "race" {
		o.Wait = 0
	}
	q := approval.New(o)
	mine := asked()
	mine.Session = fmt.Sprint("s_", os.Getpid())
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	n := 1
	if does == "race" {
		n = racers
	}
	var passed atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		all.Go(func() {
			a, err := q.Ask(ctx, mine, nil)
			if _, open := errors.AsType[*approval.Open](err); err != nil && !open {
				failed <- err
			}
			if a.Allow {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	fmt.Println("passed", passed.Load())
	return nil
}

func asked() permission.Question {
	return permission.Question{
		Session: "s_1", Principal: "ann", Client: "agent", Target: permission.Target{Server: "jira", Tool: "add"}, Args: []byte(`{"a":1}`),
		Risk: permission.Network, Entry: "sha256:e", Definition: "sha256:d", Policy: "p1",
	}
}

// process is a ledgerChild.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err *strings.Builder
}

func start(t *testing.T, path, does string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0]), err: new(strings.Builder)}
	p.cmd.Env = append(os.Environ(), ledgerFile+"="+path, ledgerDoes+"="+does, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.err
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.says("ready")
	return p
}

// says waits for a line that begins with word, and returns the rest of it.
func (p *process) says(word string) string {
	p.t.Helper()
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	_ = p.cmd.Wait()
	p.t.Fatalf("it ended before %q: %s", word, p.err)
	return ""
}

func (p *process) goOn() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		p.t.Fatal(err)
	}
}

func openLedger(t testing.TB, path string) (*sqlite.Ledger, *notices) {
	t.Helper()
	n := new(notices)
	l, err := sqlite.OpenLedger(t.Context(), path, sqlite.Options{Notice: n.take})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, n
}

func queueOver(l *sqlite.Ledger) *approval.Queue {
	return approval.New(approval.Options{Store: l.Approvals(), Elsewhere: true})
}

func openQuestion(t testing.TB, q *approval.Queue, question permission.Question) string {
	t.Helper()
	a, err := q.Ask(t.Context(), question, nil)
	o, ok := errors.AsType[*approval.Open](err)
	if !ok {
		t.Fatalf("%+v, %v; want it open", a, err)
	}
	return o.ID
}

func sayYes(t testing.TB, q *approval.Queue, id string) {
	t.Helper()
	if err := q.Answer(t.Context(), id, permission.Answer{Allow: true, Via: "cli"}); err != nil {
		t.Fatal(err)
	}
}

// theirs waits for a question of another process.
func theirs(t *testing.T, q *approval.Queue) approval.Record {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		all, err := q.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			return all[0]
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal("no question")
		}
	}
}

// F5: two processes race for one yes over one ledger, with fifty calls each: one call passes.
func TestProcessesRaceForYes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "ledger.db")
	l, _ := openLedger(t, path)
	q := queueOver(l)
	sayYes(t, q, openQuestion(t, q, asked()))
	if err := q.End(t.Context(), "s_1"); err != nil {
		t.Fatal(err)
	}
	a, b := start(t, path, "race"), start(t, path, "race")
	a.goOn()
	b.goOn()
	passed := 0
	for _, p := range []*process{a, b} {
		n, err := strconv.Atoi(p.says("passed"))
		if err != nil {
			t.Fatal(err)
		}
		passed += n
	}
	if passed != 1 {
		t.Errorf("%d passed", passed)
	}
}

// F5: a call that waits in one process is answered in another, and soon sees it.
func TestAnsweredByAnotherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	q := queueOver(l)
	p := start(t, path, "ask")
	p.goOn()
	sayYes(t, q, theirs(t, q).ID)
	if got := p.says("passed"); got != "1" {
		t.Errorf("%s passed", got)
	}
}

// F5: a question survives kill -9 of the process that asked; while it lives the question is its own.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, _ := openLedger(t, path)
	q := queueOver(l)
	p := start(t, path, "ask")
	p.goOn()
	their := theirs(t, q)
	if mine := openQuestion(t, q, asked()); mine == their.ID {
		t.Fatal("the question of a living session was taken over")
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	sayYes(t, q, their.ID)
	other := asked()
	other.Session = "s_2"
	if a, err := q.Ask(t.Context(), other, nil); err != nil || !a.Allow {
		t.Errorf("%+v, %v", a, err)
	}
	if next := openQuestion(t, q, other); next == their.ID {
		t.Error("used twice")
	}
}
