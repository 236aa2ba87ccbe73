package duplex

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
)

// serveSocket serves one client over TCP until the test ends.
func serveSocket(t *testing.T, h mcp.Handler) (client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	_ = client.SetDeadline(time.Now().Add(30 * time.Second))
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveLines(context.Background(), server, server, h) }()
	t.Cleanup(func() {
		_ = client.Close()
		<-ended
		_ = server.Close()
	})
	return client
}

// A5, B9: what a client floods is refused once 64 MiB of it wait, whatever the bytes are, and there is room again after
// the answers.
func TestFloodIsRefused(t *testing.T) {
	const size, room = 8 << 20, maxHeld / (8 << 20)
	pad := strings.Repeat("x", size)
	kinds := []string{ // each has to count, or none would be refused
		`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"a":"` + pad + `"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"x","a":"` + pad + `"}`,
		strings.Repeat(" ", size) + `{"jsonrpc":"2.0","id":%d,"method":"x"}`,
	}
	gate := make(chan struct{})
	client := serveSocket(t, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return mcp.Answer(req.ID, nil), nil
	}))
	answers := bufio.NewReader(client)
	before := heap()
	for i := range room + 2 {
		flood(t, client, kinds[i%len(kinds)], i)
	}
	for range 2 {
		if got := line(t, answers); !strings.Contains(got, "too long together") {
			t.Fatalf("got %.200s", got)
		}
	}
	if kept := heap() - before; kept > maxHeld+16<<20 {
		t.Errorf("%d MiB are kept", kept>>20)
	}
	close(gate)
	for range room {
		if got := line(t, answers); !strings.Contains(got, `"result":{}`) {
			t.Fatalf("got %.200s", got)
		}
	}
	flood(t, client, kinds[1], 99)
	if got := line(t, answers); !strings.Contains(got, `"result":{}`) {
		t.Errorf("afterwards: %.200s", got)
	}
}

func flood(t *testing.T, client net.Conn, kind string, id int) {
	t.Helper()
	if _, err := fmt.Fprintf(client, kind+"\n", id); err != nil {
		t.Fatal(err)
	}
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	got, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// One message of a batch doesn't keep the others.
func TestBatchIsTakenApart(t *testing.T) {
	b := []byte(`[{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1}},{"jsonrpc":"2.0","method":"y"}]`)
	first, others := Parse(b)
	for i := range b {
		b[i] = 'z'
	}
	if len(others) != 1 || !bytes.Equal(first.Message.Params, []byte(`{"a":1}`)) || first.Held == 0 || first.Held > 60 {
		t.Errorf("got %s, which keeps %d bytes, and %d others", first.Message.AppendTo(nil), first.Held, len(others))
	}
}

// A5: what all connections of a server hold together is bounded too, and given back.
func TestShare(t *testing.T) {
	var count atomic.Int64
	const others = maxShared - 100<<10
	if !Share(&count, others) || Share(&count, 101<<10) || count.Load() != others || !Share(nil, 1<<40) {
		t.Fatalf("%d bytes are counted", count.Load())
	}
	in, client := io.Pipe()
	answers, out := io.Pipe()
	l := &lines{bufio.NewReader(in), in, out}
	gate := make(chan struct{})
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		<-gate
		return mcp.Answer(req.ID, nil), nil
	})
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), l, lineSink{l}, h, lastAnswers, &count) }()
	request := `{"jsonrpc":"2.0","id":%d,"method":"x","params":{"a":"` + strings.Repeat("x", 60<<10) + "\"}}\n"
	_, _ = fmt.Fprintf(client, request+request, 1, 2)
	read := bufio.NewReader(answers)
	if got := line(t, read); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,"error"`) || !strings.Contains(got, "too long together") {
		t.Errorf("the second was answered with %s", got)
	}
	close(gate)
	if got := line(t, read); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("the first was answered with %s", got)
	}
	_ = client.Close()
	if err := <-ended; err != nil || count.Load() != others {
		t.Errorf("%d bytes are counted at the end; %v", count.Load()-others, err)
	}
}
