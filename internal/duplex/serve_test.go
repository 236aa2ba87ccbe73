package duplex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// A script that writes and closes gets its answers.
func TestServeAnswersAfterTheInput(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`)
	if err := serveLines(t.Context(), in, &out, transporttest.Echo()); err != nil {
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
			err := serveLines(t.Context(), in, io.Discard, c.h)
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
	go func() { ended <- serveLines(ctx, in, io.Discard, h) }()
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
	if err := serveLines(t.Context(), in, serverOut, transporttest.Echo()); err == nil {
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
		_ = serveLines(ctx, in, io.Discard, mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
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
