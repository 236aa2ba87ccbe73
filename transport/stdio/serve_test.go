package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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
	if err != nil || f.Reason != nil {
		s.t.Fatalf("read %+v, %v", f, err)
	}
	return string(f.Message.AppendTo(nil))
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

// case-032: after the input requests have five seconds, and then they are cancelled.
func TestServeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		begin := time.Now()
		err := Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), io.Discard, h)
		if took := time.Since(begin); took != 5*time.Second || err != nil {
			t.Errorf("ended after %v with %v", took, err)
		}
	})
}
