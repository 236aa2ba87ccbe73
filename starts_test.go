package usher_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/local"
)

// C8: a server that takes minutes to start costs one listing five seconds, and not each that is made meanwhile; nor does a
// name that nobody knows wait again and again.
func TestSlowStartIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := usher.DefaultLifecycle()
		life.FirstConnect = 2 * time.Minute
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{
			{Name: "well", Transport: local.New(&fake{tools: readTool}), Kind: "stdio", TrustHints: true},
			{Name: "slow", Transport: local.New(new(mcpHang)), Kind: "stdio", Lifecycle: &life},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		s := session(t, h, usher.SessionOptions{})
		for i, want := range []time.Duration{5 * time.Second, 0, 0} {
			begun := time.Now()
			m, _ := s.Handle(t.Context(), mcp.Request("1", mcp.MethodListTools, nil), mcp.Nobody)
			n := 0
			for range mcp.Elements(mcp.Member(m.Result, "tools")) {
				n++
			}
			if took := time.Since(begun); took != want || n != 1 {
				t.Errorf("listing %d: %d tools after %v, want %v", i, n, took, want)
			}
		}
		begun := time.Now()
		if _, err := s.Call(t.Context(), "nobodys", nil); fault.KindOf(err) != fault.NotFound || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// C8: remote servers start twenty at a time.
func TestRemoteStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLate(&fake{tools: readTool}, 4*time.Second)
		var servers []usher.Server
		for i := range 50 {
			servers = append(servers, usher.Server{Name: fmt.Sprint("s", i), Transport: l, Kind: "http", TrustHints: true})
		}
		h := hosting(t, servers...)
		defer h.Close()
		begun := time.Now()
		h.Ready(t.Context())
		if took := time.Since(begun); l.most.Load() != 20 || took != 12*time.Second {
			t.Errorf("%d at once, %v", l.most.Load(), took)
		}
	})
}

// C9: whatever Apply does while the host is closed, all is gone behind Close, and nothing starts any more.
func TestApplyDuringClose(t *testing.T) {
	for i := range 20 {
		m := newMortal(&fake{tools: readTool})
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log)})
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for n := range 3 {
			work.Go(func() {
				for k := range 5 {
					_, _ = h.Apply([]usher.Server{{Name: fmt.Sprint("a", n), Key: fmt.Sprint(n, k), Transport: m, Kind: "stdio"}})
				}
			})
		}
		if i%2 == 0 {
			work.Go(func() { _ = h.Restart(t.Context(), "a1") })
		}
		_ = h.Close()
		dials := m.dials.Load()
		work.Wait()
		if _, err := h.Apply(nil); err != usher.ErrClosed || m.dials.Load() != dials {
			t.Errorf("%v, %d dials behind Close", err, m.dials.Load()-dials)
		}
		for _, st := range h.Servers() {
			if st.State != "closed" {
				t.Errorf("%s is %s", st.Name, st.State)
			}
		}
	}
}
