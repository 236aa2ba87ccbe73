package transporttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// Run tests a transport. Connect returns one that leads to a server which runs h, a fresh Echo; a transport whose
// server is another process runs an Echo there and leaves h alone. Connect uses t.Cleanup for what it has to end.
//
// A Conn that isn't an mcp.Handler is taken to cancel by notifications/cancelled.
func Run(t *testing.T, connect func(t *testing.T, h mcp.Handler) transport.Transport) {
	for name, test := range map[string]func(*testing.T, transport.Transport){
		"bytes":               testBytes,
		"order":               testOrder,
		"concurrency":         testConcurrency,
		"notifications first": testNotificationsFirst,
		"cancellation":        testCancellation,
		"large":               testLarge,
		"failures":            testFailures,
		"close":               testClose,
		"close during a call": testCloseDuringCall,
		"receive and context": testReceiveContext,
		"send and context":    testSendContext,
		"independence":        testIndependence,
		"10,000 messages":     testMany,
		"backpressure":        testBackpressure,
	} {
		t.Run(name, func(t *testing.T) { test(t, connect(t, Echo())) })
	}
}

// O2: what isn't ours keeps its bytes.
func testBytes(t *testing.T, tr transport.Transport) {
	const in = `{"a":1.0,"b":9007199254740993,"c":"\u002F ü \n", "z":{"unknown":[null]}}`
	if got := dial(t, tr).result(t, "echo", in); got != in {
		t.Errorf("got %s, want %s", got, in)
	}
}

func testOrder(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	var want []string
	for i := range 100 {
		params := fmt.Sprintf(`{"i":%d}`, i)
		want = append(want, params)
		if err := c.conn.Send(t.Context(), mcp.Notification("notifications/test", []byte(params))); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.result(t, "told", `{}`); got != `{"told":[`+strings.Join(want, ",")+`]}` {
		t.Errorf("the server was told %s", got)
	}
}

func testConcurrency(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"i":%d}`, i)
			m, err := c.call(t.Context(), "echo", want)
			if err != nil || string(m.Result) != want {
				t.Errorf("%s was answered with %+v, %v", want, m, err)
			}
		})
	}
	wg.Wait()
}

func testNotificationsFirst(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	c.result(t, "notify", `{"n":50}`)
	got := c.notifications()
	if len(got) != 50 {
		t.Fatalf("%d notifications came before the answer, want 50", len(got))
	}
	for i, m := range got {
		if want := fmt.Sprintf(`{"n":%d}`, i); m.Method != NotifyCount || string(m.Params) != want {
			t.Errorf("notification %d is %s %s, want %s", i, m.Method, m.Params, want)
		}
	}
}

func testCancellation(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.call(ctx, "slow", `{"key":"a"}`)
		failed <- err
	}()
	c.hears(t, NotifyStarted, `{"key":"a"}`)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call returned %v", err)
	}
	c.result(t, "ended", `{"key":"a"}`)
}

func testLarge(t *testing.T, tr transport.Transport) {
	const size = 8 << 20
	c := dial(t, tr)
	if got := c.result(t, "huge", fmt.Sprintf(`{"n":%d}`, size)); len(got) != size+len(`{"text":""}`) {
		t.Errorf("got %d bytes", len(got))
	}
	in := `{"text":"` + strings.Repeat("y", size) + `"}`
	if got := c.result(t, "echo", in); got != in {
		t.Errorf("%d bytes came back as %d others", len(in), len(got))
	}
}

// A5: what fails is one call.
func testFailures(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	m, err := c.call(t.Context(), "fail", `{}`)
	if err != nil || m.Err() == nil || m.Err().Code != -32000 {
		t.Errorf("an error answer came as %+v, %v", m, err)
	}
	for _, how := range []string{"panic", "error"} {
		m, err := c.call(t.Context(), "fail", `{"how":"`+how+`"}`)
		if err == nil && m.Error == nil {
			t.Errorf("%s: got %s", how, m.Result)
		}
	}
	c.result(t, "echo", `{}`)
}

func testClose(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	c.result(t, "echo", `{}`)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := c.conn.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	<-c.done
	for range 2 {
		if _, err := c.conn.Receive(t.Context()); err != io.EOF {
			t.Errorf("Receive after Close: %v, want io.EOF", err)
		}
	}
	err := c.conn.Send(t.Context(), mcp.Notification("notifications/test", nil))
	if !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send after Close: %v, want ErrNotSent", err)
	}
	if _, err := c.call(t.Context(), "echo", `{}`); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("a request after Close: %v, want ErrNotSent", err)
	}
}

// A call that runs when the connection is closed doesn't hang. One that runs on its caller's goroutine (local) may
// last as long as its context.
func testCloseDuringCall(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error)
	go func() {
		_, err := c.call(ctx, "slow", `{"key":"a"}`)
		failed <- err
	}()
	c.hears(t, NotifyStarted, `{"key":"a"}`)
	if err := c.conn.Close(); err != nil {
		t.Error(err)
	}
	<-c.done
	if _, ok := c.conn.(mcp.Handler); ok {
		cancel()
	}
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
}

func testReceiveContext(t *testing.T, tr transport.Transport) {
	conn, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := conn.Receive(ctx)
		failed <- err
	}()
	cancel(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("Receive returned %v when its context ended", err)
	}
	c := newCaller(conn)
	c.result(t, "echo", `{}`) // the connection goes on
	conn.Close()
	<-c.done
}

func testSendContext(t *testing.T, tr transport.Transport) {
	c := dial(t, tr)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.conn.Send(ctx, mcp.Notification("notifications/test", []byte(`{}`)))
	if !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Errorf("Send with a context that has ended: %v", err)
	}
	if got := c.result(t, "told", `{}`); got != `{"told":[]}` {
		t.Errorf("the server was told %s", got)
	}
}

func testIndependence(t *testing.T, tr transport.Transport) {
	a, b := dial(t, tr), dial(t, tr)
	a.result(t, "echo", `{}`)
	if err := a.conn.Close(); err != nil {
		t.Error(err)
	}
	<-a.done
	b.result(t, "echo", `{}`)
}
