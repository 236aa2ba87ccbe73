// Package faithful holds usher to O2: what it need not change arrives byte for byte. Generated calls go from a caller
// through usher to a server that is nothing but a socket, and their answers come back; both ends are compared as raw
// bytes. It doesn't test what usher does with what it does change.
//
// A failure prints the seed; USHER_FAITHFUL_SEED makes the same calls again, USHER_FAITHFUL_CALLS more or fewer.
package faithful

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/internal/client"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/local"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/ws"
)

// TestMain makes the test binary the bridge between the pipes of a child and a socket of its parent.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "__bridge" {
		os.Exit(bridge(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

func bridge(path string) int {
	c, err := net.Dial("unix", path)
	if err != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

// way is one transport, with a raw server at its other end.
type way struct {
	name      string
	carry     func(string) string // what of an answer the framing can carry
	sent      func(string) string // what of params the transport carries
	oldOnly   bool
	tellsNone bool // of progress: an answer stands alone
	open      func(t testing.TB, s *script) (transport.Transport, error)
}

func ways() []way {
	return []way{
		{name: "stdio", carry: line, sent: oneLine, open: openStdio},
		{name: "http json", carry: anything, sent: oneLine, tellsNone: true, open: openHTTP(false)},
		{name: "http events", carry: event, sent: oneLine, open: openHTTP(true)},
		{name: "sse", carry: event, sent: oneLine, oldOnly: true, open: openSSE},
		{name: "ws", carry: anything, sent: oneLine, open: openWS},
		{name: "grpc", carry: anything, sent: oneLine, open: openGRPC},
		{name: "local", carry: anything, sent: anything, open: openLocal},
	}
}

func openStdio(t testing.TB, s *script) (transport.Transport, error) {
	path := filepath.Join(t.TempDir(), "s")
	accept(t, listen(t, "unix", path), serveLines(s))
	return stdio.New(stdio.Options{Command: "/proc/self/exe", Args: []string{"__bridge", path}}), nil
}

func openHTTP(stream bool) func(testing.TB, *script) (transport.Transport, error) {
	return func(t testing.TB, s *script) (transport.Transport, error) {
		l := listen(t, "tcp", "127.0.0.1:0")
		accept(t, l, serveHTTP(s, stream))
		return http.New(http.Options{URL: "http://" + l.Addr().String()})
	}
}

func openSSE(t testing.TB, s *script) (transport.Transport, error) {
	l := listen(t, "tcp", "127.0.0.1:0")
	accept(t, l, (&sseServer{script: s}).serve)
	return sse.New(sse.Options{URL: "http://" + l.Addr().String()})
}

func openWS(t testing.TB, s *script) (transport.Transport, error) {
	l := listen(t, "tcp", "127.0.0.1:0")
	accept(t, l, serveWebSocket(s))
	return ws.New(ws.Options{URL: "ws://" + l.Addr().String()})
}

func openGRPC(t testing.TB, s *script) (transport.Transport, error) {
	return grpc.New(grpc.Options{URL: serveGRPC(t, s)})
}

// openLocal has no socket: what the Handler gets and returns is compared.
func openLocal(_ testing.TB, s *script) (transport.Transport, error) {
	return local.New(mcp.HandlerFunc(func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		var answer *mcp.Message
		for _, text := range s.reply(m.AppendTo(nil)) {
			said, err := mcp.Parse([]byte(text))
			if err != nil {
				return nil, err
			}
			if answer = said; said.IsNotification() {
				p.Notify(ctx, said)
			}
		}
		if m.Method == mcp.MethodCallTool {
			s.keep(string(m.Params))
		}
		return answer, nil
	})), nil
}

// world is what one test runs with.
type world struct {
	seed  uint64
	items map[int]*item
}

// newWorld makes n calls.
func newWorld(t *testing.T, n int, s setting) *world {
	t.Helper()
	w := &world{seed: rand.Uint64(), items: make(map[int]*item)}
	for name, to := range map[string]func(uint64){
		"USHER_FAITHFUL_SEED": func(v uint64) { w.seed = v }, "USHER_FAITHFUL_CALLS": func(v uint64) { n = int(v) },
	} {
		if v, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
			to(v)
		}
	}
	for i := range n {
		w.items[i] = makeItem(w.seed, i, s)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to see it again: USHER_FAITHFUL_SEED=%d USHER_FAITHFUL_CALLS=%d go test ./test/faithful -run '%s'", w.seed, n, t.Name())
		}
	})
	return w
}

func (w *world) script(t testing.TB, modern bool, carry func(string) string) *script {
	return &script{t: t, modern: modern, carry: carry, items: w.items, got: make(map[int]string)}
}

// atOnce is how many calls are under way: enough for memory that is used again too early to show.
const atOnce = 6

// each runs f for all items, some at once.
func (w *world) each(f func(*item)) {
	var wg sync.WaitGroup
	next := make(chan *item)
	for range atOnce {
		wg.Go(func() {
			for it := range next {
				f(it)
			}
		})
	}
	for i := range len(w.items) {
		next <- w.items[i]
	}
	close(next)
	wg.Wait()
}

// listener keeps what a call was told.
type listener struct {
	mcp.Peer
	mu   sync.Mutex
	told []string
}

func (l *listener) Notify(_ context.Context, m *mcp.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, string(m.Params))
}

// O2: through the client, over each transport in each era that it carries.
func TestClient(t *testing.T) {
	for _, w := range ways() {
		for _, era := range []string{"legacy", "modern"} {
			if era == "modern" && w.oldOnly {
				continue
			}
			t.Run(w.name+"/"+era, func(t *testing.T) { testClient(t, w, era == "modern") })
		}
	}
}

func testClient(t *testing.T, way way, modern bool) {
	w := newWorld(t, 80, setting{tool: `"t"`})
	server := w.script(t, modern, way.carry)
	tr, err := way.open(t, server)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := client.Connect(ctx, tr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Info().Era == mcp.Modern; got != modern {
		t.Fatalf("modern: %v", got)
	}
	w.each(func(it *item) {
		heard := &listener{Peer: mcp.Nobody}
		answer, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, []byte(it.params)), heard)
		if err != nil {
			t.Errorf("call %d failed: %v", it.index, err)
			return
		}
		fail(t, it, checkParams(way.sent(it.params), server.params(it.index), modern))
		fail(t, it, differ("result", way.carry(it.result), string(answer.Result)))
		fail(t, it, differ("error", way.carry(it.failure), string(answer.Error)))
		if want := it.token != "" && !way.tellsNone; want && len(heard.told) == 1 {
			fail(t, it, differ("progress", way.carry(it.told(it.token)), heard.told[0]))
		} else if want || len(heard.told) > 0 {
			t.Errorf("call %d was told %q, its token is %s", it.index, heard.told, it.token)
		}
	})
}

func fail(t *testing.T, it *item, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("call %d: %v", it.index, err)
	}
}
