package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// served is a Serve under test, which runs until its input is closed.
type served struct {
	t      *testing.T
	in     *os.File
	answer *frames
	ended  chan error
}

func start(t *testing.T, h mcp.Handler) *served {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t, in, newFrames(out, mcp.MaxMessage), make(chan error, 1)}
	go func() {
		s.ended <- Serve(context.Background(), serverIn, serverOut, h)
		_ = serverOut.Close()
		_ = serverIn.Close()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-s.ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		_ = out.Close()
	})
	return s
}

func (s *served) write(lines ...string) {
	s.t.Helper()
	if _, err := s.in.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// read returns the next message as a line.
func (s *served) read() string {
	s.t.Helper()
	f, err := s.answer.next()
	if err != nil || f.reason != nil {
		s.t.Fatalf("read %+v, %v", f, err)
	}
	return string(f.m.AppendTo(nil))
}

func (s *served) expect(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.read(); got != w {
			s.t.Fatalf("got  %s\nwant %s", got, w)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	s := start(t, transporttest.Echo())
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}`: `"id":7,"error":{"code":-32600,`,
		`{"jsonrpc":"1.0","id":7,"method":"x"}`:                        `"id":7,"error":{"code":-32600,`,
		`hello`:                                                        `"id":null,"error":{"code":-32700,`,
		`{"jsonrpc":"2.0","id":`:                                       `"id":null,"error":{"code":-32700,`,
		`{"jsonrpc":"2.0"}`:                                            `"id":null,"error":{"code":-32600,`,
		`[]`:                                                           `"id":null,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"` + strings.Repeat("x", mcp.MaxMessage) + `"}}`: `"id":7,"error":{"code":-32600,`,
	} {
		s.write(in)
		if got := s.read(); !strings.Contains(got, want) {
			t.Errorf("%.80s was answered with %s", in, got)
		}
	}
	s.write(`{"jsonrpc":"2.0","id":"on","method":"echo"}`)
	s.expect(`{"jsonrpc":"2.0","id":"on","result":{}}`)
}

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

// A script that writes and closes gets its answers.
func TestServeAnswersAfterTheInput(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`)
	if err := Serve(t.Context(), in, &out, transporttest.Echo()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`+"\n" {
		t.Errorf("got %s", got)
	}
}

// case-032: after the input nothing runs for ever, and what can't end by itself isn't waited for.
func TestServeEnds(t *testing.T) {
	listen := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	stubborn := mcp.HandlerFunc(func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
		time.Sleep(time.Minute) // of the bubble's clock
		return nil, nil
	})
	asking := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		return p.Request(ctx, mcp.Request("", "roots/list", nil))
	})
	for _, c := range []struct {
		method string
		h      mcp.Handler
		after  time.Duration
		failed bool
	}{
		{"tools/call", listen, lastAnswers, false},
		{methodListen, listen, 0, false},
		{"tools/call", asking, 0, false},
		{"tools/call", stubborn, lastAnswers + 2*endGrace, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + c.method + `"}`)
			err := Serve(t.Context(), in, io.Discard, c.h)
			if took := time.Since(begin); took != c.after || (err != nil) != c.failed {
				t.Errorf("%s: ended after %v with %v, want %v", c.method, took, err, c.after)
			}
			time.Sleep(time.Minute) // until the stubborn one has ended, too
		})
	}
}

func TestServeContext(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer w.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{})
	h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ended := make(chan error)
	go func() { ended <- Serve(ctx, in, io.Discard, h) }()
	fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"method":"x"}`)
	<-started
	cancel(cause)
	if err := <-ended; err != cause {
		t.Errorf("Serve: %v", err)
	}
}

// When nobody reads any more, Serve ends although its input goes on.
func TestServeOutputFails(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer w.Close()
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer serverOut.Close()
	_ = out.Close()
	fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	if err := Serve(t.Context(), in, serverOut, transporttest.Echo()); err == nil {
		t.Error("Serve ended without an error")
	}
}

// A peer that doesn't read loses notifications and blocks no Notify, and the memory for it is bounded.
func TestServeSlowReader(t *testing.T) {
	told := make(chan struct{})
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		m := mcp.Notification("n", []byte(`{"a":"`+strings.Repeat("x", 64<<10)+`"}`))
		for range 1000 {
			p.Notify(ctx, m)
		}
		close(told)
		return mcp.Answer(req.ID, nil), nil
	})
	s := start(t, h)
	s.write(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	<-told
	n := 0
	for !strings.Contains(s.read(), `"id":1`) {
		n++
	}
	if n == 0 || n > 100 {
		t.Errorf("%d notifications were kept", n)
	}
}

func TestServeTooLongAnswer(t *testing.T) {
	s := start(t, transporttest.Echo())
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"huge","params":{"n":%d}}`, mcp.MaxMessage))
	if got := s.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":`) {
		t.Errorf("got %.100s", got)
	}
}

// A5: what waits is bounded, notifications too.
func TestNotificationsAreBounded(t *testing.T) {
	in, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Serve(ctx, in, io.Discard, mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	}()
	for range 4 * maxCalls {
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/x"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine(); n > maxCalls+maxRunning {
		t.Errorf("%d goroutines", n)
	}
	cancel()
	_ = w.Close()
	<-done
}
