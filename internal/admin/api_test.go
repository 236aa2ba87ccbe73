package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/ancestry"
)

// N3: what a person sees of a server, and nothing secret.
func TestStatus(t *testing.T) {
	c := parsed(t, `{"mcpServers": {
		"jira": {"command": "jira-mcp", "args": ["--token", "${T}"], "env": {"JIRA_TOKEN": "${T}"}},
		"web": {"url": "https://me:pass-word@web.example/${T}/mcp?key=abc"},
		"old": {"url": "http://127.0.0.1:1/x"},
		"off": {"command": "x", "disabled": true},
		"bad": {"command": 3},
	}}`, "T", "s3cret-s3cret")
	up := time.Now().Add(-time.Hour).Round(time.Millisecond).UTC()
	d := &desk{config: c, status: []usher.ServerStatus{
		{Name: "jira", State: "up", Era: "modern", Revision: "2026-07-28", PID: 7, Tools: 3, Err: errors.New("long ago"),
			Restarts: 2, Breaker: "half-open", Since: up, PoolSize: 2, PoolBusy: 1, PoolMax: 8},
		{Name: "old", State: "starting", Era: "modern", Fallback: true},
		{Name: "web", State: "unavailable", Err: &fault.Error{Kind: fault.Unavailable, Detail: "no s3cret-s3cret " + strings.Repeat("ä", 600), Hint: "wait"}, NextTry: up, Cached: true, Tools: 4, Resources: 5, Prompts: 6},
	}}
	got, err := open(t, Options{Host: d}).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &Status{
		Version: usher.Version, PID: os.Getpid(), Config: c.Path, Problems: problemsOf(c, c.Path),
		Servers: []Server{
			{Name: "jira", State: "up", Transport: "stdio", Target: "jira-mcp", Source: "user", File: c.Path, Line: 2, Era: "modern", Revision: "2026-07-28", PID: 7, Tools: 3,
				Restarts: 2, Breaker: "half-open", Since: up, UptimeMs: got.Servers[0].UptimeMs, Pool: &Pool{Size: 2, Busy: 1, Max: 8}},
			{Name: "off", State: "disabled", Disabled: true, Transport: "stdio", Target: "x", Source: "user", File: c.Path, Line: 5},
			{Name: "old", State: "starting", Transport: "sse", Target: "http://127.0.0.1:1/x", Source: "user", File: c.Path, Line: 4},
			{Name: "web", State: "unavailable", Transport: "http", Target: "https://web.example/[redacted:2]/mcp", Source: "user", File: c.Path, Line: 3,
				NextTry: up, Cached: true, Tools: 4, Resources: 5, Prompts: 6, LastError: &Failure{Kind: "mcp_server_unavailable", Message: "no [redacted:2] " + strings.Repeat("ä", 492) + "…", Hint: "wait"}},
		},
		Idle: []Server{},
	}
	if ms := got.Servers[0].UptimeMs; ms < 3_600_000 || ms > 3_700_000 {
		t.Errorf("up since %d ms", ms)
	}
	if len(want.Problems) != 1 {
		t.Errorf("problems: %v", want.Problems)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestChanges(t *testing.T) {
	d := &desk{config: parsed(t, `{}`)}
	c := open(t, Options{Host: d})
	odd := "a/../b ?%2F\"ü"
	ctx := t.Context()
	for _, err := range []error{
		c.Restart(ctx, odd), c.SetDisabled(ctx, "..", true), c.SetDisabled(ctx, "x", false),
		c.AddServer(ctx, "n", []byte(`{"command":"<a>","args":["1e2"]}`)), c.RemoveServer(ctx, "r"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{"restart " + odd, "disable ..", "enable x", `add n {"command":"<a>","args":["1e2"]}`, "remove r"}
	if d := cmp.Diff(want, d.were()); d != "" {
		t.Error(d)
	}
}

// F5, K8: whoever may not answer changes no server either, nor ends the calls of others by a restart.
func TestWhoMayChange(t *testing.T) {
	d, k := &desk{config: parsed(t, `{}`)}, kin{fail: errors.New("nobody knows the clients")}
	var said notices
	c := open(t, Options{Host: d, Guard: ancestry.Guard{Kin: k.list}, Notice: said.note})
	ctx := t.Context()
	for i, err := range []error{
		c.Restart(ctx, "x"), c.SetDisabled(ctx, "x", true), c.SetDisabled(ctx, "x", false), c.AddServer(ctx, "n", []byte(`{}`)), c.RemoveServer(ctx, "r"),
	} {
		if fault.KindOf(err) != fault.PermissionDenied {
			t.Errorf("%d: %v", i, err)
		}
	}
	if were := d.were(); len(were) > 0 {
		t.Errorf("the host was asked for %v", were)
	}
	if !said.has(`the change restart of server "x" was refused`) {
		t.Errorf("told: %v", said.all)
	}
}

// D5: an error comes out of the client as the host gave it.
func TestErrors(t *testing.T) {
	for _, err := range []error{
		&fault.Error{Kind: fault.Unavailable, Server: "s", Detail: "no route", Hint: "Look at the cable."},
		&fault.Error{Kind: fault.NotFound, Detail: `no server is called "x"`},
		&fault.Error{Kind: fault.Timeout, Server: "s"},
		&config.Problem{File: "f.json", Line: 3, Column: 4, Field: "mcpServers.x", Message: "expected an object"},
		errors.New("the disk is full"),
	} {
		c := open(t, Options{Host: &desk{config: parsed(t, `{}`), err: fmt.Errorf("inside: %w", err)}})
		got := c.Restart(t.Context(), "s")
		if p, ok := errors.AsType[*config.Problem](err); ok {
			if q, ok := errors.AsType[*config.Problem](got); !ok || *p != *q {
				t.Errorf("%v: %v", err, got)
			}
			continue
		}
		e, ok := errors.AsType[*fault.Error](got)
		if !ok || e.Kind != fault.KindOf(err) || !strings.Contains(e.Error(), fault.Of(err).Detail) || e.Hint != fault.Of(err).Hint || e.Server != fault.Of(err).Server {
			t.Errorf("%v: %#v", err, got)
		}
	}
}

// A change that is waited for ends with who waits, and with usher.
func TestChangeEnds(t *testing.T) {
	begun := make(chan struct{})
	d := &desk{config: parsed(t, `{}`), wait: func(ctx context.Context) { begun <- struct{}{}; <-ctx.Done(); begun <- struct{}{} }}
	o := Options{Host: d, DataDir: t.TempDir()}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Restart(ctx, "a") }()
	<-begun
	cancel()
	<-begun
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { done <- c.Restart(t.Context(), "b") }()
	<-begun
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-begun
	<-done
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), o.DataDir); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := os.Lstat(SocketPath(o.DataDir)); err == nil {
		t.Error("the socket was left behind")
	}
}
