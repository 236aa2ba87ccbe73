package usher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
)

// mortal is a transport to a server in this process that can be killed, and refuse to come up again.
type mortal struct {
	h     mcp.Handler
	dials atomic.Int64

	mu   sync.Mutex
	fail error
	kill chan struct{}
}

func newMortal(h mcp.Handler) *mortal { return &mortal{h: h, kill: make(chan struct{})} }

func (m *mortal) Connect(ctx context.Context) (transport.Conn, error) {
	m.dials.Add(1)
	m.mu.Lock()
	fail, kill := m.fail, m.kill
	m.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	c, err := local.New(m.h).Connect(ctx)
	return &mortalConn{Conn: c, Handler: c.(mcp.Handler), kill: kill, closed: make(chan struct{})}, err
}

// die ends all connections; fail is what further ones fail with.
func (m *mortal) die(fail error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
	close(m.kill)
	m.kill = make(chan struct{})
}

type mortalConn struct {
	transport.Conn
	mcp.Handler
	kill   chan struct{}
	closed chan struct{}
	once   sync.Once
}

var errKilled = errors.New("killed by SIGKILL")

func (c *mortalConn) Receive(context.Context) (*mcp.Message, error) {
	select {
	case <-c.kill:
		return nil, errKilled
	case <-c.closed:
		return nil, errKilled
	}
}

func (c *mortalConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func names(s *usher.Session) (all []string) {
	for _, t := range s.Tools() {
		all = append(all, t.Name)
	}
	return all
}

func session(t *testing.T, h *usher.Host, o usher.SessionOptions) *usher.Session {
	t.Helper()
	s, err := h.Session(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// C2: a server that is down stays listed while it restarts, leaves when it has failed for good, and comes back when it is
// restarted; agents are told. Its neighbour notices nothing.
func TestToolsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(&fake{tools: readTool})
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{
			{Name: "a", Transport: m, Kind: "stdio", TrustHints: true},
			{Name: "b", Transport: local.New(&fake{tools: readTool}), Kind: "stdio", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		h.Ready(t.Context())
		var told atomic.Int64
		s := session(t, h, usher.SessionOptions{Changed: func() { told.Add(1) }})
		defer s.Close("closed")
		both, one := []string{"mcp.a.get", "mcp.b.get"}, []string{"mcp.b.get"}
		step := func(what string, want []string, changes int64) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, names(s)); diff != "" || told.Swap(0) != changes {
				t.Errorf("%s:\n%s", what, diff)
			}
			if _, err := s.Call(t.Context(), "mcp.b.get", []byte(`{"key":"k"}`)); err != nil {
				t.Errorf("%s: the neighbour: %v", what, err)
			}
		}
		step("up", both, 0)
		m.die(errKilled)
		step("restarting", both, 0)
		time.Sleep(time.Minute)
		step("failed", one, 1)
		if st := h.Servers()[0]; st.State != "failed" || st.Tools != 0 || st.Err == nil {
			t.Errorf("%+v", st)
		}
		m.die(nil)
		if err := h.Restart(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		step("restarted by hand", both, 1)
		if err := h.Restart(t.Context(), "nope"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown name: %v", err)
		}
	})
}

// C9, C3, case-007, case-089: of the servers of a new configuration those with the same Key are untouched, with their calls; others are
// replaced, ended or started.
func TestApply(t *testing.T) {
	log := new(eventtest.Log)
	release := make(chan struct{})
	long := &fake{tools: readTool, do: func(string, json.RawMessage) *mcp.Message {
		<-release
		return mcp.Answer("", json.RawMessage(`{"content":[]}`))
	}}
	made := map[string]*mortal{}
	server := func(name, key string, handler mcp.Handler) usher.Server {
		m := newMortal(handler)
		made[key] = m
		return usher.Server{Name: name, Key: key, Transport: m, Kind: "stdio", TrustHints: true}
	}
	other := &fake{tools: netTool}
	same := server("same", "same1", long)
	h, err := usher.Open(t.Context(), usher.Options{Log: log, HostSession: "s_host", Servers: []usher.Server{
		same, server("changes", "changes1", other), server("goes", "goes1", other),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	s := session(t, h, usher.SessionOptions{})
	call := make(chan error, 1)
	go func() {
		_, err := s.Call(t.Context(), "mcp.same.get", []byte(`{"key":"k"}`))
		call <- err
	}()
	for long.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	again := same
	again.Transport = newMortal(long)
	next := []usher.Server{again, server("changes", "changes2", other), server("comes", "comes1", other)}
	got, err := h.Apply(next)
	want := usher.Change{Added: []string{"comes"}, Removed: []string{"goes"}, Changed: []string{"changes"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	close(release)
	if err := <-call; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	h.Ready(t.Context())
	for key, dials := range map[string]int64{"same1": 1, "changes1": 1, "goes1": 1, "changes2": 1, "comes1": 1} {
		if n := made[key].dials.Load(); n != dials {
			t.Errorf("%s: %d dials, want %d", key, n, dials)
		}
	}
	if diff := cmp.Diff([]string{"mcp.changes.post", "mcp.comes.post", "mcp.same.get"}, names(s)); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(fmt.Sprint(log.Types("s_host")), "mcp.server.shutdown"); n != 2 {
		t.Errorf("%d shutdowns", n)
	}
	if got, err := h.Apply(next); err != nil || !cmp.Equal(got, usher.Change{}) {
		t.Errorf("the same once more: %+v, %v", got, err)
	}
	if _, err := h.Apply([]usher.Server{same, same}); err == nil {
		t.Error("a name that is used twice was taken")
	}
}

// C9, A5: calls of a server that stays go on while others come and go (shows under -race).
func TestApplyUnderCalls(t *testing.T) {
	same := usher.Server{Name: "same", Key: "same", Transport: local.New(&fake{tools: readTool}), Kind: "local", TrustHints: true}
	h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{same}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	s := session(t, h, usher.SessionOptions{})
	var calls sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		calls.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Call(t.Context(), "mcp.same.get", []byte(`{"key":"k"}`)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 50 {
		other := usher.Server{Name: "other", Key: fmt.Sprint(i), Transport: local.New(&fake{tools: netTool}), Kind: "local"}
		if _, err := h.Apply([]usher.Server{same, other}[:1+i%3%2]); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	calls.Wait()
}

// shelfStore keeps records in memory.
type shelfStore struct {
	mu  sync.Mutex
	all map[string]usher.Record
}

func (m *shelfStore) Load(_ context.Context, keys []string) (out []usher.Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		if r, ok := m.all[k]; ok {
			out = append(out, r)
		}
	}
	return out, nil
}

func (m *shelfStore) Save(_ context.Context, records ...usher.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		r.Data = slices.Clone(r.Data)
		m.all[r.Key] = r
	}
	return nil
}

// E6, C8: what a server offered is listed at once after a restart, and marked as cached, while the server is still
// starting; its call waits for it. A tool that has become another one meanwhile isn't called on what was known of it.
func TestCachedListing(t *testing.T) {
	store := &shelfStore{all: map[string]usher.Record{}}
	run := func(transport transport.Transport) *usher.Host {
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Store: store, Servers: []usher.Server{
			{Name: "a", Key: "k", Transport: transport, Kind: "stdio", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := run(local.New(&fake{tools: readTool + "," + netTool}))
	first.Ready(t.Context())
	_ = first.Close()

	other := &fake{tools: readTool + "," + strings.Replace(netTool, `"type":"object"`, `"type":"object","title":"new"`, 1)}
	gate := &gated{Transport: local.New(other), open: make(chan struct{})}
	h := run(gate)
	defer h.Close()
	s := session(t, h, usher.SessionOptions{Asker: yes})
	listed := make(chan *mcp.Message, 1)
	go func() {
		m, _ := s.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
		listed <- m
	}()
	if m := <-listed; !strings.Contains(string(m.Result), "mcp__a__get") {
		t.Errorf("listed: %s", m.Result)
	}
	if st := h.Servers()[0]; !st.Cached || st.State != "starting" || st.Tools != 2 {
		t.Errorf("%+v", st)
	}
	call := func(tool, args string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.Call(t.Context(), tool, []byte(args))
			done <- err
		}()
		return done
	}
	same, changed := call("mcp.a.get", `{"key":"k"}`), call("mcp.a.post", `{}`)
	time.AfterFunc(50*time.Millisecond, func() { close(gate.open) }) // both are decided by then, or see the new list: either is right
	if err := <-same; err != nil {
		t.Errorf("a tool that stayed the same: %v", err)
	}
	if err := <-changed; err != nil && fault.KindOf(err) != fault.ApprovalRequired {
		t.Errorf("a tool that changed: %v", err)
	}
	if st := h.Servers()[0]; st.Cached || st.State != "up" {
		t.Errorf("%+v", st)
	}
}

// gated lets nobody in before open is closed.
type gated struct {
	transport.Transport
	open chan struct{}
}

func (g *gated) Connect(ctx context.Context) (transport.Conn, error) {
	select {
	case <-g.open:
		return g.Transport.Connect(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A5: while servers next to it crash, hang, refuse and flood, a healthy one answers each call in no time at all.
func TestNeighboursBurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := &mcpHang{}
		crashing := newMortal(&fake{tools: readTool})
		refusing := newMortal(&fake{tools: readTool})
		refusing.die(errors.New("connection refused"))
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{
			{Name: "well", Transport: local.New(&fake{tools: readTool}), Kind: "stdio", TrustHints: true},
			{Name: "crashes", Transport: crashing, Kind: "stdio", TrustHints: true},
			{Name: "hangs", Transport: local.New(hang), Kind: "ws", TrustHints: true},
			{Name: "refuses", Transport: refusing, Kind: "ws", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		s := session(t, h, usher.SessionOptions{})
		var burning sync.WaitGroup
		life, stop := context.WithCancel(t.Context())
		defer burning.Wait()
		defer stop()
		for _, tool := range []string{"mcp.crashes.get", "mcp.hangs.get", "mcp.refuses.get"} {
			for range 5 {
				burning.Go(func() {
					for life.Err() == nil {
						_, _ = s.Call(life, tool, []byte(`{"key":"k"}`))
						time.Sleep(500 * time.Millisecond)
					}
				})
			}
		}
		time.Sleep(50 * time.Second) // the hanging one has been given up in its first start by then
		for range 100 {
			crashing.die(nil)
			begun := time.Now()
			if _, err := s.Call(t.Context(), "mcp.well.get", []byte(`{"key":"k"}`)); err != nil || time.Since(begun) != 0 {
				t.Fatalf("%v after %v", err, time.Since(begun))
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// mcpHang answers nothing.
type mcpHang struct{}

func (*mcpHang) Handle(ctx context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	if req.IsNotification() {
		return nil, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// D3, H3: an attempt that is made again is one more mcp.call.started, behind the end of the one before; the tool started
// once.
func TestEventsOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		busy := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodCallTool && n.Add(1) < 3 {
				return nil, &transport.StatusError{Status: 429, RetryAfter: 2 * time.Second}
			}
			return (&fake{tools: readTool}).Handle(ctx, req, p)
		})
		log := new(eventtest.Log)
		h, err := usher.Open(t.Context(), usher.Options{Log: log, Servers: []usher.Server{
			{Name: "a", Transport: local.New(busy), Kind: "http", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		h.Ready(t.Context())
		s := session(t, h, usher.SessionOptions{})
		begun := time.Now()
		if _, err := s.Call(t.Context(), "mcp.a.get", []byte(`{"key":"k"}`)); err != nil || time.Since(begun) < 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		want := []string{
			"session.started", "model.tool_call_requested", "permission.requested", "permission.resolved",
			"mcp.call.started", "tool.started", "mcp.call.failed", "mcp.call.started", "mcp.call.failed", "mcp.call.started",
			"mcp.call.completed", "tool.completed",
		}
		if diff := cmp.Diff(want, log.Types(s.ID())); diff != "" {
			t.Error(diff)
		}
	})
}

var yes = permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
	return permission.Answer{Allow: true}, nil
})

// C5: a remote server that was down from the start, and whose tools so nobody has seen, is dialled when an agent lists:
// nothing else would ever call it.
func TestListingFindsTheLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(&fake{tools: readTool})
		m.die(errors.New("connection refused"))
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{
			{Name: "far", Transport: m, Kind: "http", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		var told atomic.Int64
		s := session(t, h, usher.SessionOptions{Changed: func() { told.Add(1) }})
		list := func() string {
			m, _ := s.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
			return string(m.Result)
		}
		time.Sleep(time.Hour)
		dials := m.dials.Load()
		_ = list()
		synctest.Wait()
		if n := m.dials.Load() - dials; n != 1 {
			t.Errorf("%d dials for a listing while it is down", n)
		}
		m.die(nil)
		time.Sleep(time.Minute)
		_ = list()
		synctest.Wait()
		if got := list(); !strings.Contains(got, "mcp__far__get") || told.Load() != 1 {
			t.Errorf("once it is back: %s, told %d times", got, told.Load())
		}
	})
}
