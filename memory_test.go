package usher_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// An idle session that has called, taken in, asked and been allowed something takes at most 4 KB, and nothing once it
// has ended.
func TestSessionMemory(t *testing.T) {
	h, err := usher.Open(t.Context(), usher.Options{
		Servers: []usher.Server{{Name: "jira", Transport: local.New(&fake{tools: netTool}), Kind: "http", Credentials: true}},
		Log:     discard{}, Asker: permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
			return permission.Answer{Allow: true, Scope: permission.Session}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Ready(t.Context())
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const n = 1000
	use := func() (all []*usher.Session) {
		for i := range n {
			s, err := h.Session(usher.SessionOptions{Client: fmt.Sprint("client ", i)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Call(t.Context(), "mcp.jira.post", nil); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		return all
	}
	end := func(all []*usher.Session) {
		for _, s := range all {
			s.Close("closed")
		}
	}
	end(use()) // what the host keeps in any case is there now
	before := heap()
	all := use()
	if each := (heap() - before) / n; each > 4<<10 {
		t.Errorf("a session takes %d bytes", each)
	} else {
		t.Logf("a session takes %d bytes", each)
	}
	end(all)
	clear(all)
	if left := (heap() - before) / n; left > 256 {
		t.Errorf("an ended session leaves %d bytes", left)
	} else {
		t.Logf("an ended session leaves %d bytes", left)
	}
}

var _ event.Log = discard{}
