package transporttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// patience is how long something may take that should happen at once, on a busy machine.
const patience = 30 * time.Second

// closeBound is the longest that any Close may take.
const closeBound = 5 * time.Second

// RunBroken tests what a transport does when the network or its server fails. Connect is as for Run, but its server is
// reached only through the Proxy.
func RunBroken(t *testing.T, connect func(t *testing.T, h mcp.Handler) (transport.Transport, *Proxy)) {
	for name, test := range map[string]func(*testing.T, transport.Transport, *Proxy){
		"cut":                 testCut,
		"cut under load":      testCutUnderLoad,
		"half-open call":      testHalfOpenCall,
		"half-open send":      testHalfOpenSend,
		"half-open and close": testHalfOpenClose,
	} {
		t.Run(name, func(t *testing.T) {
			tr, p := connect(t, Echo())
			test(t, tr, p)
		})
	}
}

// testCut: a call whose connection breaks fails at once, and may have run (case-065, C4). A Conn that is a Handler lives
// on; another one's Receive has ended. In any case the transport connects again.
func testCut(t *testing.T, tr transport.Transport, p *Proxy) {
	c := dialBroken(t, tr)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, "slow", `{"key":"a"}`)
		failed <- err
	}()
	c.hears(t, NotifyStarted, `{"key":"a"}`)
	p.Cut()
	if err := <-failed; err == nil || errors.Is(err, transport.ErrNotSent) || ctx.Err() != nil {
		t.Errorf("the call on a broken connection: %v", err)
	}
	if _, ok := c.conn.(mcp.Handler); ok {
		c.result(t, "echo", `{}`)
		return
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		t.Fatal("Receive goes on after the connection broke")
	}
	if _, err := c.conn.Receive(ctx); err == nil || err.Error() != c.end.Error() {
		t.Errorf("Receive returned %v, then %v", c.end, err)
	}
	if err := c.conn.Send(ctx, mcp.Notification("notifications/test", nil)); err == nil {
		t.Error("Send succeeded on a broken connection")
	}
	again := dial(t, tr)
	again.result(t, "echo", `{}`)
}

// testCutUnderLoad: each of many calls is answered rightly or fails; none hangs.
func testCutUnderLoad(t *testing.T, tr transport.Transport, p *Proxy) {
	c := dialBroken(t, tr)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"i":%d}`, i)
			m, err := c.call(ctx, "echo", want)
			if err == nil && string(m.Result) != want {
				t.Errorf("%s was answered with %s", want, m.Result)
			}
		})
		if i == 50 {
			p.Cut()
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Error("a call hung")
	}
}

// testHalfOpenCall: a server that is silent costs a call no more than its context.
func testHalfOpenCall(t *testing.T, tr transport.Transport, p *Proxy) {
	c := dialBroken(t, tr)
	c.result(t, "echo", `{}`)
	p.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.call(ctx, "echo", `{}`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call to a silent server: %v", err)
	}
	if took := time.Since(start); took > closeBound {
		t.Errorf("it took %v", took)
	}
}

// testHalfOpenSend: nor does a Send to a server that has stopped reading, once all buffers are full.
func testHalfOpenSend(t *testing.T, tr transport.Transport, p *Proxy) {
	c := dialBroken(t, tr)
	c.result(t, "echo", `{}`)
	p.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	large := mcp.Notification("notifications/test", []byte(`{"x":"`+strings.Repeat("x", 64<<10)+`"}`))
	start := time.Now()
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		err = c.conn.Send(ctx, large)
	}
	if err == nil {
		t.Error("64 MiB were sent to a server that doesn't read")
	}
	if took := time.Since(start); took > closeBound {
		t.Errorf("Send took %v", took)
	}
}

// testHalfOpenClose: Close needs nothing of the server, and ends the call in flight.
func testHalfOpenClose(t *testing.T, tr transport.Transport, p *Proxy) {
	c := dialBroken(t, tr)
	failed := make(chan error, 1)
	go func() {
		_, err := c.call(t.Context(), "slow", `{"key":"a"}`)
		failed <- err
	}()
	c.hears(t, NotifyStarted, `{"key":"a"}`)
	p.Freeze()
	start := time.Now()
	if err := c.conn.Close(); err != nil {
		t.Logf("Close: %v", err)
	}
	if took := time.Since(start); took > closeBound {
		t.Errorf("Close took %v", took)
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("the call succeeded")
		}
	case <-time.After(patience):
		t.Error("the call goes on after Close")
	}
}

// dialBroken is dial for a connection that needn't end well.
func dialBroken(t *testing.T, tr transport.Transport) *caller {
	t.Helper()
	conn, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(conn)
	t.Cleanup(func() {
		_ = conn.Close()
		<-c.done
	})
	return c
}
