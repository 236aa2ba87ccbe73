package transporttest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// testMany: none of 10,000 messages is lost, doubled or out of order. They come in portions that a Peer must be able to
// queue.
func testMany(t *testing.T, tr transport.Transport) {
	const calls, portion = 200, 48
	c := dial(t, tr)
	for range calls {
		c.result(t, "notify", fmt.Sprintf(`{"n":%d}`, portion))
	}
	got := c.notifications()
	if len(got) != calls*portion {
		t.Fatalf("%d notifications came, want %d", len(got), calls*portion)
	}
	for i, m := range got {
		if want := fmt.Sprintf(`{"n":%d}`, i%portion); string(m.Params) != want {
			t.Fatalf("notification %d is %s, want %s", i, m.Params, want)
		}
	}
}

// testBackpressure: answers that nobody takes in for a while wait; they neither get lost nor block what is sent.
func testBackpressure(t *testing.T, tr transport.Transport) {
	const calls, size = 64, 64 << 10
	params := fmt.Sprintf(`{"n":%d}`, size)
	conn, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, ok := conn.(mcp.Handler); ok {
		c := newCaller(conn)
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if m, err := c.call(ctx, "huge", params); err != nil || len(m.Result) < size {
					t.Errorf("a large answer came as %v", err)
				}
			})
		}
		wg.Wait()
		_ = conn.Close()
		<-c.done
		return
	}
	for i := range int64(calls) {
		if err := conn.Send(ctx, mcp.Request(mcp.IntID(i), "huge", []byte(params))); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	came := make(map[mcp.ID]bool)
	for len(came) < calls {
		m, err := conn.Receive(ctx)
		if err != nil {
			t.Fatalf("after %d answers: %v", len(came), err)
		}
		if came[m.ID] || len(m.Result) < size {
			t.Fatalf("%s was answered again, or with %d bytes", m.ID, len(m.Result))
		}
		came[m.ID] = true
	}
}
