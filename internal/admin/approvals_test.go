package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/ancestry"
	"github.com/usher-mcp/usher/internal/approval"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/permission"
)

const (
	asDecider   = "ADMIN_TEST_DECIDE"
	watchdogArg = "__watchdog"
)

// decide answers all questions with yes and tells what came of it.
func decide(dir string) {
	c, err := Dial(context.Background(), dir)
	if err == nil {
		var all []Approval
		if all, err = c.Approvals(context.Background()); err == nil && len(all) == 0 {
			err = errors.New("nothing waits")
		}
		for _, a := range all {
			err = errors.Join(err, c.Decide(context.Background(), a.ID, true, permission.Once))
		}
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		err = fmt.Errorf("%s %s", e.Kind, e.Detail)
	}
	fmt.Println(err)
	os.Exit(0)
}

// queue has these questions open.
func queue(t *testing.T, questions ...permission.Question) *approval.Queue {
	t.Helper()
	q := approval.New(approval.Options{Elsewhere: true})
	t.Cleanup(func() { _ = q.Close() })
	for _, one := range questions {
		_, err := q.Ask(t.Context(), one, nil)
		if _, ok := errors.AsType[*approval.Open](err); !ok {
			t.Fatal(err)
		}
	}
	return q
}

func write() permission.Question {
	return permission.Question{Session: "s_1", Client: "codex", Target: permission.Target{Server: "fs", Tool: "write"}, Risk: permission.Write, Args: []byte(`{"a":  1}`)}
}

// F5: all bytes of a question come through, and an answer counts as given.
func TestApprovals(t *testing.T) {
	asked := permission.Question{
		ToolCallID: "c1", Session: "s_1", Principal: "ann", Client: "codex\x1b[31m", Target: permission.Target{Server: "a.b", Tool: "x.y"}, Title: "Writes.",
		Args: []byte("{\"a\" :  \"\\u202e\u202e<&>\", \"a\":1e2}"), Risk: permission.Write, Reasons: []string{"because"}, Entry: "e", Definition: "d", Package: "p",
		Source: "user", Policy: "v", Rule: &permission.Rule{Pattern: "mcp.*", Scope: "user", File: "f", Line: 3, Note: "n"},
	}
	q := queue(t, asked)
	c := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, Approvals: q})
	all, err := c.Approvals(t.Context())
	if err != nil || len(all) != 1 || all[0].State != "waiting" || all[0].Args != nil || all[0].Bytes != int64(len(asked.Args)) {
		t.Fatalf("%+v, %v", all, err)
	}
	one, err := c.Approval(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	asked.ID, asked.Asked, asked.Expires = one.ID, one.Asked, one.Expires
	if d := cmp.Diff(asked, one.Question()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"once", "session"}, one.Scopes); d != "" {
		t.Error(d)
	}
	if err := c.Decide(t.Context(), one.ID, true, permission.Session); err != nil {
		t.Fatal(err)
	}
	got, err := q.Show(t.Context(), one.ID)
	if want := (permission.Answer{Allow: true, Scope: permission.Session, Via: "admin", Principal: me()}); err != nil || got.Answer != want || got.State != approval.Allowed {
		t.Errorf("%+v, %v", got, err)
	}
	for id, want := range map[string]fault.Kind{one.ID: fault.InvalidParams, "q_other": fault.NotFound, "../servers": fault.NotFound} {
		if err := c.Decide(t.Context(), id, false, permission.Once); fault.KindOf(err) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// 16 MiB, the longest arguments that there can be.
func TestLongArguments(t *testing.T) {
	long := write()
	long.Args = append(append([]byte(`"`), bytes.Repeat([]byte("a"), 16<<20-2)...), '"')
	q := queue(t, long)
	c := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, Approvals: q})
	all, err := c.Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if one, err := c.Approval(t.Context(), all[0].ID); err != nil || !bytes.Equal(one.Args, long.Args) {
		t.Errorf("%d bytes, %v", len(one.Args), err)
	}
}

// F5: a yes to what may destroy, or carry data out, is for one call; it isn't cut down to that, but refused.
func TestScopes(t *testing.T) {
	destroys, flows, ruled := write(), write(), write()
	destroys.Risk, flows.Flow, ruled.Rule = permission.Destructive, "data of a to b", &permission.Rule{Pattern: "mcp.*"}
	for what, c := range map[string]struct {
		q      permission.Question
		scopes []string
	}{
		"destructive": {destroys, []string{"once"}}, "a flow": {flows, []string{"once"}}, "an ask rule": {ruled, []string{"once", "session"}},
		"a write": {write(), []string{"once", "session", "always"}},
	} {
		q := queue(t, c.q)
		client := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, Approvals: q})
		all, err := client.Approvals(t.Context())
		if err != nil || cmp.Diff(c.scopes, all[0].Scopes) != "" {
			t.Fatalf("%s: %+v, %v", what, all, err)
		}
		for s := permission.Always; len(c.scopes) <= int(s); s-- {
			if err := client.Decide(t.Context(), all[0].ID, true, s); fault.KindOf(err) != fault.InvalidParams {
				t.Errorf("%s for %s: %v", what, s, err)
			}
		}
		if err := client.Decide(t.Context(), all[0].ID, true, permission.Scope(len(c.scopes)-1)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An answer that is only half understood is none.
func TestOddVerdicts(t *testing.T) {
	q := queue(t, write())
	c := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, Approvals: q})
	all, err := c.Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{``, `{}`, `{"allow":null}`, `{"allow":1}`, `{"allow":"true"}`, `{"allow":true,"allow":false}`, `{"Allow":true}`, `{"allow":true,"scope":"ever"}`, `{"allow":true,"for":"me"}`} {
		if err := c.do(t.Context(), http.MethodPost, pathApprovals+"/"+all[0].ID, []byte(body), nil); fault.KindOf(err) != fault.InvalidParams {
			t.Errorf("%s: %v", body, err)
		}
	}
	if one, err := q.Show(t.Context(), all[0].ID); err != nil || one.State != approval.Waiting {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := open(t, Options{Host: &desk{config: parsed(t, `{}`)}}).Approvals(t.Context()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an API without questions: %v", err)
	}
}

// F5: the one who asked doesn't answer: neither a server of usher's, nor a client and what it started. Another process of
// this user does. With the check taken out, each case says yes.
func TestWhoMayAnswer(t *testing.T) {
	me, err := ancestry.Self()
	if err != nil {
		t.Fatal(err)
	}
	const (
		answers = `"$0"`
		escapes = `setsid sh -c '"$0" & ' "$0"; read line`
	)
	for what, c := range map[string]struct {
		server bool
		script string
		usher  bool // it is known that the daemon is an usher
		client bool
		want   string
	}{
		"a server":                 {true, answers + "; true", true, false, "permission_denied usher (process "},
		"an escaped server":        {true, escapes, true, false, "permission_denied usher (process "},
		"a server by its watchdog": {true, escapes, false, false, "permission_denied usher started this process"},
		"a client":                 {false, "exec " + answers, false, true, "permission_denied codex (process "},
		"a client's child":         {false, answers + "; true", false, true, "permission_denied codex (process "},
		"somebody else":            {false, answers + "; true", false, false, "<nil>"},
	} {
		t.Run(what, func(t *testing.T) {
			var k kin
			if c.usher {
				k.add(ancestry.Kin{Process: me, Usher: true})
			}
			var said notices
			q := queue(t, write())
			o := Options{Host: &desk{config: parsed(t, `{}`)}, DataDir: t.TempDir(), Approvals: q, Notice: said.note, Guard: ancestry.Guard{Kin: k.list}}
			if !c.usher {
				o.Guard.Watchdog = watchdogArg
			}
			open(t, o)
			got := run(t, c.server, "read go; "+c.script, o.DataDir, func(pid int) {
				if p, err := ancestry.Of(pid); err == nil && c.client {
					k.add(ancestry.Kin{Process: p, Name: "codex"})
				}
			})
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			refused := c.want != "<nil>"
			if open, err := q.List(t.Context()); err != nil || (len(open) == 1) != refused {
				t.Errorf("%d still wait, %v", len(open), err)
			}
			if said.has("was refused") != refused {
				t.Errorf("told: %v", said.all)
			}
		})
	}
}

// The program itself may answer: it could reach the queue without the API.
func TestItselfMayAnswer(t *testing.T) {
	me, err := ancestry.Self()
	if err != nil {
		t.Fatal(err)
	}
	var k kin
	k.add(ancestry.Kin{Process: me, Usher: true})
	c := open(t, Options{Host: &desk{config: parsed(t, `{}`)}, Approvals: queue(t, write()), Guard: ancestry.Guard{Kin: k.list}})
	all, err := c.Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Decide(t.Context(), all[0].ID, true, permission.Once); err != nil {
		t.Error(err)
	}
	k.fail = errors.New("the disk is gone")
	if err := c.Decide(t.Context(), all[0].ID, true, permission.Once); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("nobody knows the clients: %v", err)
	}
}

// run has a shell script, started as a server or by hand, say one line, once it may go.
func run(t *testing.T, server bool, script, dir string, started func(pid int)) string {
	t.Helper()
	env := append(os.Environ(), asDecider+"="+dir)
	var in io.Writer
	var out io.Reader
	if server {
		l := sandbox.Launcher{Watchdog: []string{"/proc/self/exe", watchdogArg}}
		p, err := l.Start(t.Context(), sandbox.Spec{Command: "sh", Args: []string{"-c", script, os.Args[0]}, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop()
		started(p.Pid())
		in, out = p.Stdin(), p.Stdout()
	} else {
		cmd := exec.Command("sh", "-c", script, os.Args[0])
		cmd.Env = env
		var err error
		if in, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if out, err = cmd.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		started(cmd.Process.Pid)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	var text [4096]byte
	n, err := out.Read(text[:])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, "end\n")
	return string(text[:n])
}

type kin struct {
	mu   sync.Mutex
	all  []ancestry.Kin
	fail error
}

func (k *kin) add(one ancestry.Kin) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, one)
}

func (k *kin) list(context.Context) ([]ancestry.Kin, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all, k.fail
}

type notices struct {
	mu  sync.Mutex
	all []string
}

func (n *notices) note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

func (n *notices) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.all, "\n"), text)
}
