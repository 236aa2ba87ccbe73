package usher_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// runner is a package runner: each connection is to a process of its own.
type runner struct {
	transport.Transport
	last   atomic.Int64
	starts atomic.Pointer[func()] // is called when a process starts, also in the background; nil: nothing is
}

type process struct {
	transport.Conn
	mcp.Handler
	pid int
}

func (p process) Describe() transport.Description { return transport.Description{PID: p.pid} }

func (r *runner) Connect(ctx context.Context) (transport.Conn, error) {
	if starts := r.starts.Load(); starts != nil {
		(*starts)()
	}
	c, err := r.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	pid := int(r.last.Add(1))
	return process{c, c.(mcp.Handler), pid}, nil
}

// updated is a host with one server that a runner starts. Nothing runs at once in these tests.
type updated struct {
	*usher.Host
	f       *fake
	runner  *runner
	deny    atomic.Pointer[permission.Rule]
	version string
	grants  []permission.Grant // of the user
	asked   []permission.Question
	scope   permission.Scope
	kept    []permission.Grant
	then    func() // while a question is open
}

func update(t *testing.T, how lifecycle.Isolation, flows *usher.Flows) *updated {
	t.Helper()
	u := &updated{f: &fake{tools: netTool}, version: "npm:x@1"}
	r := &runner{Transport: local.New(u.f)}
	u.runner = r
	known := map[int]string{}
	life := usher.DefaultLifecycle()
	life.Isolation = how
	o := usher.Options{
		Servers: []usher.Server{{
			Name: "x", Entry: "sha256:e", Transport: r, Kind: "stdio", Lifecycle: &life,
			Package: func(pid int) string {
				if _, ok := known[pid]; !ok {
					known[pid] = u.version
				}
				return known[pid]
			},
		}},
		Log: new(eventtest.Log), Policy: func() *permission.Policy {
			p := &permission.Policy{Grants: u.grants}
			if r := u.deny.Load(); r != nil {
				p.Deny = []permission.Rule{*r}
			}
			return p
		},
		Asker: permission.AskerFunc(func(_ context.Context, q permission.Question) (permission.Answer, error) {
			u.asked = append(u.asked, q)
			if u.then != nil {
				u.then()
			}
			return permission.Answer{Allow: true, Scope: u.scope}, nil
		}),
		Remember: func(g permission.Grant) error { u.kept = append(u.kept, g); return nil },
	}
	if flows != nil {
		o.Flows = func() *usher.Flows { return flows }
	}
	var err error
	if u.Host, err = usher.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	u.Ready(t.Context())
	return u
}

func (u *updated) session(t *testing.T) *usher.Session {
	t.Helper()
	s, err := u.Session(usher.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (u *updated) call(t *testing.T, s *usher.Session) error {
	t.Helper()
	_, err := s.Call(t.Context(), "mcp.x.post", nil)
	return err
}

// refused expects that the call needs another answer, and that nothing left.
func (u *updated) refused(t *testing.T, s *usher.Session) {
	t.Helper()
	before := u.f.calls.Load()
	if err := u.call(t, s); fault.KindOf(err) != fault.ApprovalRequired || u.f.calls.Load() != before {
		t.Errorf("the other version: %v, %d calls went out", err, u.f.calls.Load()-before)
	}
}

func (u *updated) passes(t *testing.T, s *usher.Session, asked int) {
	t.Helper()
	before := u.f.calls.Load()
	if err := u.call(t, s); err != nil || u.f.calls.Load() != before+1 || len(u.asked) != asked {
		t.Errorf("%v, %d calls went out, %d questions, want %d", err, u.f.calls.Load()-before, len(u.asked), asked)
	}
}

// F4, F5: a yes for this call, too, is for the version that the question named, and not for the one that is started for it.
func TestOnceIsForThePackage(t *testing.T) {
	u := update(t, lifecycle.PerCall, nil)
	s := u.session(t)
	u.passes(t, s, 1)
	u.then = func() { u.version = "npm:x@2" }
	u.refused(t, s)
	if q := u.asked[1]; q.Package != "npm:x@1" {
		t.Errorf("the question named %q", q.Package)
	}
	u.passes(t, s, 3)
	if q := u.asked[2]; q.Package != "npm:x@2" {
		t.Errorf("the question after the update named %q", q.Package)
	}
}

// F4, D1: where a session, or a call, has a process of its own, a grant is held against what that one runs. A lasting
// answer is kept with it, too.
func TestGrantsAndProcessesOfOnesOwn(t *testing.T) {
	for _, how := range []lifecycle.Isolation{lifecycle.PerCall, lifecycle.PerSession} {
		for _, scope := range []permission.Scope{permission.Session, permission.Always} {
			t.Run(string(how)+" "+scope.String(), func(t *testing.T) {
				u := update(t, how, nil)
				u.scope = scope
				s := u.session(t)
				u.passes(t, s, 1)
				u.passes(t, s, 1)
				if scope == permission.Always {
					if len(u.kept) != 1 || u.kept[0].Package != "npm:x@1" {
						t.Fatalf("kept %+v", u.kept)
					}
					u.grants = u.kept
				}
				u.version = "npm:x@2"
				if how == lifecycle.PerSession {
					s = u.session(t) // has a new process, while the shared one is the old
				}
				u.refused(t, s)
				u.passes(t, s, len(u.asked)+1)
				if q := u.asked[len(u.asked)-1]; q.Package != "npm:x@2" {
					t.Errorf("the question after the update named %q", q.Package)
				}
			})
		}
	}
}

// F4: a version that can't be told is another one: it asks, and neither runs nor is refused for ever.
func TestPackageThatCannotBeTold(t *testing.T) {
	u := update(t, lifecycle.Shared, nil)
	u.scope = permission.Always
	s := u.session(t)
	u.passes(t, s, 1)
	u.grants = u.kept
	u.version = ""
	if err := u.Restart(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	u.passes(t, s, 2)
	u.grants = u.kept[1:]
	u.passes(t, u.session(t), 2)
}

// F6: a rule that denies a call while it waits for its server beats what let it in.
func TestDeniedWhileItsServerStarts(t *testing.T) {
	u := update(t, lifecycle.PerCall, nil)
	s := u.session(t)
	u.passes(t, s, 1)
	denies := func() { u.deny.Store(&permission.Rule{Pattern: "mcp.x.*"}) }
	u.runner.starts.Store(&denies)
	if err := u.call(t, s); fault.KindOf(err) != fault.PermissionDenied || u.f.calls.Load() != 1 {
		t.Errorf("%v, %d calls went out", err, u.f.calls.Load())
	}
}
