package duplex

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// A5: a panic, an error, no answer, the end of the goroutine: each is one failed call.
func TestServeFailures(t *testing.T) {
	ways := map[string]mcp.HandlerFunc{
		"panic": func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { panic("inner detail") },
		"error": func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
			return nil, errors.New("inner detail")
		},
		"none":   func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return nil, nil },
		"goexit": func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { runtime.Goexit(); return nil, nil },
	}
	for name, h := range ways {
		s := start(t, h)
		s.write(`{"jsonrpc":"2.0","id":7,"method":"x"}`, `{"jsonrpc":"2.0","method":"x"}`)
		got := s.read()
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,`) || strings.Contains(got, "inner") {
			t.Errorf("%s: answered with %s", name, got)
		}
	}
}

// A cancelled request gets no answer, and nothing that it tells afterwards leaves.
func TestServeCancellation(t *testing.T) {
	s := start(t, transporttest.Echo())
	s.write(`{"jsonrpc":"2.0","id":"a","method":"slow","params":{"key":"k"}}`)
	s.expect(`{"jsonrpc":"2.0","method":"notifications/test/started","params":{"key":"k"}}`)
	s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"enough"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`,
		`{"jsonrpc":"2.0","id":"b","method":"ended","params":{"key":"k"}}`,
		`{"jsonrpc":"2.0","id":"c","method":"told"}`)
	got := []string{s.read(), s.read()}
	slices.Sort(got)
	if got[0] != `{"jsonrpc":"2.0","id":"b","result":{}}` || got[1] != `{"jsonrpc":"2.0","id":"c","result":{"told":[]}}` {
		t.Errorf("got %s", got)
	}
}

func TestServeSameIDTwice(t *testing.T) {
	s := start(t, transporttest.Echo())
	s.write(`{"jsonrpc":"2.0","id":1,"method":"slow","params":{"key":"k"}}`)
	s.expect(`{"jsonrpc":"2.0","method":"notifications/test/started","params":{"key":"k"}}`)
	s.write(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	if got := s.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`) {
		t.Errorf("got %s", got)
	}
	s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
}

// Notifications keep their order, and requests that came later see their effect.
func TestServeOrder(t *testing.T) {
	s := start(t, transporttest.Echo())
	for range 50 {
		s.write(`{"jsonrpc":"2.0","method":"n","params":{"i":1}}`, `{"jsonrpc":"2.0","method":"n","params":{"i":2}}`,
			`{"jsonrpc":"2.0","id":1,"method":"told"}`)
		want := `{"told":[` + strings.Repeat(`{"i":1},{"i":2},`, 50)
		if got := s.read(); !strings.HasPrefix(want, strings.TrimSuffix(got[len(`{"jsonrpc":"2.0","id":1,"result":`):], `]}}`)) {
			t.Fatalf("got %s", got)
		}
	}
}

// O3: a question of the server has an id of its own, and its answer finds back.
func TestServeAsks(t *testing.T) {
	s := start(t, transporttest.Echo())
	s.write(`{"jsonrpc":"2.0","id":1,"method":"ask","params":{"method":"roots/list"}}`)
	s.expect(`{"jsonrpc":"2.0","id":"usher-1","method":"roots/list"}`)
	s.write(`{"jsonrpc":"2.0","id":"usher-9","result":{}}`, `{"jsonrpc":"2.0","id":"usher-1","result":{"roots":[]}}`)
	s.expect(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)

	// An answer that can't be trusted is a failed question.
	s.write(`{"jsonrpc":"2.0","id":2,"method":"ask","params":{"method":"roots/list"}}`)
	s.expect(`{"jsonrpc":"2.0","id":"usher-2","method":"roots/list"}`)
	s.write(`{"jsonrpc":"2.0","id":"usher-2","result":{"a":1,"a":1}}`)
	if got := s.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,`) {
		t.Errorf("got %s", got)
	}

	// A question whose call was cancelled is taken back.
	s.write(`{"jsonrpc":"2.0","id":3,"method":"ask","params":{"method":"roots/list"}}`)
	s.expect(`{"jsonrpc":"2.0","id":"usher-3","method":"roots/list"}`)
	s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	s.expect(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"usher-3"}}`)
}

// Questions can be answered however many requests wait with one, or behind a notification that asks.
func TestServeAsksBeyondTheBound(t *testing.T) {
	const n = 2 * maxRunning
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		return p.Request(ctx, mcp.Request(req.ID, "roots/list", nil))
	})
	s := start(t, h)
	s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range n {
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
	}
	var asks []string
	for range n + 1 {
		id, _, _ := strings.Cut(strings.TrimPrefix(s.read(), `{"jsonrpc":"2.0","id":`), `,"method"`)
		asks = append(asks, id)
	}
	for _, id := range asks {
		s.write(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	for range n {
		if got := s.read(); !strings.HasSuffix(got, `"result":{}}`) {
			t.Fatalf("got %s", got)
		}
	}
}

// Beyond the bound requests wait, and all are answered.
func TestServeBound(t *testing.T) {
	var mu sync.Mutex
	begun, running, most := 0, 0, 0
	gate := make(chan struct{})
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		mu.Lock()
		running++
		most = max(most, running)
		if begun++; begun == maxRunning {
			close(gate)
		}
		mu.Unlock()
		<-gate
		mu.Lock()
		running--
		mu.Unlock()
		return mcp.Answer(req.ID, nil), nil
	})
	s := start(t, h)
	go func() {
		for i := range maxRunning + 100 {
			fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"x"}`+"\n", i)
		}
	}()
	for range maxRunning + 100 {
		s.read()
	}
	if most > maxRunning {
		t.Errorf("%d ran at once", most)
	}
}

// The Peer of a notification outlives it: that is how a legacy client hears of what nobody asked for.
func TestServeUnasked(t *testing.T) {
	peers := make(chan mcp.Peer, 1)
	s := start(t, mcp.HandlerFunc(func(_ context.Context, _ *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		peers <- p
		return nil, nil
	}))
	s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p := <-peers
	p.Notify(t.Context(), mcp.Notification(mcp.NotifyTools, nil))
	s.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
}
