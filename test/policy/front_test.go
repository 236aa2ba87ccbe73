package policy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/standard"
)

// daemon is a running `usher serve`.
type daemon struct {
	w   *world
	url string
	cmd *exec.Cmd

	mu     sync.Mutex
	stderr bytes.Buffer
}

func (d *daemon) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stderr.Write(b)
}

func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stderr.String()
}

// serve starts usher for agents. It ends with the test, or with stop.
func (w *world) serve(t *testing.T, flags ...string) *daemon {
	t.Helper()
	return w.serveAs(t, false, flags...)
}

func (w *world) serveAs(t *testing.T, nobody bool, flags ...string) *daemon {
	t.Helper()
	flags = append(slices.Clone(flags), "serve", "--listen", "127.0.0.1:0", "--json")
	d := &daemon{w: w, cmd: asNobody(w.command(context.Background(), flags...), nobody)}
	d.cmd.Stderr = d
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.stop(t) })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var at struct{ URL string }
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("usher serve: %v %q\n%s", err, line, d.said())
	}
	d.url = at.URL
	return d
}

func (d *daemon) stop(t *testing.T) {
	if d.cmd.ProcessState != nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("usher serve: %v\n%s", err, d.said())
	}
}

// agent is a client in a process of its own, which does what it is told.
type agent struct {
	in  io.WriteCloser
	out *json.Decoder
}

// step is told to an agent, done is what it answers; see ./puppet.
type step struct {
	URL   string   `json:",omitempty"`
	Stdio []string `json:",omitempty"`
	Name  string   `json:",omitempty"`
	Tool  string   `json:",omitempty"`
	Args  string   `json:",omitempty"`
	How   string   `json:",omitempty"`
	Run   []string `json:",omitempty"`
	List  bool     `json:",omitempty"`
}

type done struct {
	Text   string
	Failed bool
	Ran    ran
}

type ran struct {
	Code int
	Out  string
}

func (w *world) agent(t *testing.T) *agent {
	t.Helper()
	return w.agentAs(t, false)
}

func (w *world) agentAs(t *testing.T, nobody bool) *agent {
	t.Helper()
	cmd := exec.Command(w.puppet, "agent")
	cmd.Dir, cmd.Env = w.repo, w.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as a terminal, or a desktop, starts one
	asNobody(cmd, nobody)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent: %v", err)
		}
	})
	return &agent{in, json.NewDecoder(out)}
}

func (a *agent) do(t *testing.T, s step) done {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var d done
	if _, err = a.in.Write(append(b, '\n')); err == nil {
		err = a.out.Decode(&d)
	}
	if err != nil {
		t.Fatalf("the agent has ended: %v", err)
	}
	return d
}

// connected is an agent that has shaken hands with the daemon.
func (d *daemon) connected(t *testing.T, name string) *agent {
	t.Helper()
	a := d.w.agent(t)
	if r := a.do(t, step{URL: d.url, Name: name}); r.Failed {
		t.Fatalf("%s: %s", name, r.Text)
	}
	return a
}

// stdio is an agent that has started usher and shaken hands with it.
func (w *world) stdio(t *testing.T, flags ...string) *agent {
	t.Helper()
	a := w.agent(t)
	if r := a.do(t, step{Stdio: append(append([]string{w.usher}, flags...), "stdio"), Name: "stdio-agent"}); r.Failed {
		t.Fatal(r.Text)
	}
	return a
}

func (a *agent) call(t *testing.T, tool, args string) done {
	t.Helper()
	return a.do(t, step{Tool: tool, Args: args})
}

// passes checks that a call ran.
func (a *agent) passes(t *testing.T, tool, args string) {
	t.Helper()
	if d := a.call(t, tool, args); d.Failed || d.Text != "done" {
		t.Errorf("%s %.200s: %.600s", tool, args, d.Text)
	}
}

// Read only.
var questionID = regexp.MustCompile(`q_[A-Za-z0-9]{8,}`)

// asks checks that a call needs a person's word, and returns the question's id.
func (a *agent) asks(t *testing.T, tool, args string) string {
	t.Helper()
	d := a.call(t, tool, args)
	id := questionID.FindString(d.Text)
	if !d.Failed || id == "" {
		t.Fatalf("%s %.200s: %.600s", tool, args, d.Text)
	}
	return id
}

// merged is the configuration as it counts in a folder.
func (w *world) merged(t *testing.T, folder string) *config.Config {
	t.Helper()
	c, err := config.LoadAll(config.Sources{User: w.config, Dir: folder, Env: func(name string) (string, bool) { return w.home, name == "HOME" }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trust says yes to entries of the project in a folder as they are now; without names, to all.
func (w *world) trust(t *testing.T, folder string, names ...string) {
	t.Helper()
	l, err := sqlite.OpenLedger(t.Context(), standard.LedgerPath(w.data), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := w.merged(t, folder)
	trusted := 0
	for _, s := range c.Pending {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			trusted++
			if err := l.Trust(t.Context(), sqlite.Trust{Key: standard.TrustKey(c.Folder, s.Name, s.Hash), Folder: c.Folder, Name: s.Name, By: "test", At: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if trusted == 0 {
		t.Fatalf("nothing to trust in %s", folder)
	}
}

// events are those of a type in the log.
func (w *world) events(t *testing.T, kind string) (all []object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := w.command(ctx, "events", "--json", "--type", kind).Output()
	if err != nil {
		t.Fatalf("usher events: %v", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct {
			Type string
			Data object
		}
		if err := d.Decode(&e); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if e.Type == kind {
			all = append(all, e.Data)
		}
	}
}
