package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/stdio"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// B1, with the watchdog of B9 and without.
func TestTransport(t *testing.T) {
	for name, launcher := range map[string]sandbox.Launcher{
		"direct":  {},
		"watched": {Watchdog: []string{"/proc/self/exe", "__watchdog"}},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(*testing.T, mcp.Handler) transport.Transport {
				o := options("echo")
				o.Launcher = launcher
				return stdio.New(o)
			})
		})
	}
}

// ping has the server answer something and returns what came before that.
func ping(t *testing.T, conn transport.Conn) (before []error) {
	t.Helper()
	if err := conn.Send(t.Context(), mcp.Request("1000", "echo", []byte(`{}`))); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := conn.Receive(t.Context())
		if m != nil && m.ID == "1000" {
			return before
		}
		if broken := (*transport.Broken)(nil); err != nil && !errors.As(err, &broken) {
			t.Fatal(err)
		}
		before = append(before, err)
	}
}

// B1, case-301, case-302: what is no message is skipped, counted and shown without control characters.
func TestStrayLines(t *testing.T) {
	type stray struct {
		count  int
		sample string
	}
	var told []stray
	o := saying("\x1b[1;32mServer\x1b[0m on\tstdio \u202egpj\r\n\n  \n" +
		`{"level":"info","id":1000,"msg":"a log line"}` + "\n[INFO] ready [1]\n7\n" +
		`{"jsonrpc":"2.0","method":"a","method":"b"}` + "\n\xff\xfe\n" + strings.Repeat("long ", 1000) + "\n")
	o.OnStray = func(count int, sample string) { told = append(told, stray{count, sample}) }
	conn := connect(t, o)
	if got := ping(t, conn); got != nil {
		t.Errorf("received %v", got)
	}
	d := conn.(transport.Describer).Describe()
	if d.StrayLines != 7 || d.StraySample != "Server on.stdio .gpj" {
		t.Errorf("%d stray lines, the first %q", d.StrayLines, d.StraySample)
	}
	_ = conn.Close()
	if _, err := conn.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive after Close: %v", err)
	}
	total := 0
	for _, s := range told {
		total += s.count
		if len(s.sample) > 200 {
			t.Errorf("a sample of %d bytes", len(s.sample))
		}
	}
	if total != 7 || len(told) == 0 || told[0] != (stray{1, d.StraySample}) || len(told) > 3 {
		t.Errorf("told %v", told)
	}
}

// J1: an answer that two readers could understand differently fails its call and no other.
func TestBrokenAnswers(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for name, line := range map[string]string{
		"duplicate key at depth": `{"jsonrpc":"2.0","id":7,"result":{"a":[{"k":1,"k":2}]}}`,
		"invalid UTF-8":          "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":\"\xff\"}}",
		"deep":                   `{"jsonrpc":"2.0","id":7,"result":{"a":` + deep + `}}`,
		"cut":                    `{"jsonrpc":"2.0","id":7,"result":{"a":`,
		"no version":             `{"id":7,"result":{}}`,
		"two results":            `{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`,
		"in a batch":             `[{"jsonrpc":"2.0","id":7,"result":{"k":1,"k":1}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			before := ping(t, connect(t, saying(line+"\n")))
			if len(before) != 1 {
				t.Fatalf("received %v", before)
			}
			broken, ok := errors.AsType[*transport.Broken](before[0])
			if !ok || broken.Message.ID != "7" || broken.Message.Method != "" {
				t.Errorf("received %+v", before[0])
			}
		})
	}
}

// 2025-03-26: a batch comes as its messages.
func TestBatch(t *testing.T) {
	conn := connect(t, saying(`[ {"jsonrpc":"2.0","id":1,"result":{}}, 7, {"jsonrpc":"2.0","method":"b"},`+
		`{"jsonrpc":"2.0","id":"c","error":{"code":1,"message":"]"}} ]`+"\n"))
	for _, want := range []mcp.Message{{ID: "1"}, {Method: "b"}, {ID: `"c"`}} {
		m, err := conn.Receive(t.Context())
		if err != nil || m.ID != want.ID || m.Method != want.Method {
			t.Fatalf("got %+v, %v; want %+v", m, err, want)
		}
	}
}

// B1, case-290: a line of 100 MB fails its call, takes no more memory than the longest message, and ends nothing.
func TestLongLine(t *testing.T) {
	conn := connect(t, options("long"))
	if err := conn.Send(t.Context(), mcp.Request("7", "echo", nil)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := conn.Receive(t.Context())
	runtime.ReadMemStats(&after)
	broken, ok := errors.AsType[*transport.Broken](err)
	if !ok || broken.Message.ID != "7" || fault.KindOf(err) != fault.TooLarge {
		t.Fatalf("received %v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*mcp.MaxMessage {
		t.Errorf("it took %d MiB of memory", taken>>20)
	}
	ping(t, conn)
}

// case-045: how it ended and its last words are known at once.
func TestExitAtOnce(t *testing.T) {
	conn := connect(t, options("fail"))
	_, err := conn.Receive(t.Context())
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || exit.Exit != "exit status 3" || exit.Stderr != "starting\nAPI_KEY is not set\n" {
		t.Fatalf("received %v", err)
	}
	if _, again := conn.Receive(t.Context()); again != err {
		t.Errorf("then %v", again)
	}
	if err := conn.Send(t.Context(), mcp.Request("1", "x", nil)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send: %v", err)
	}
	d := conn.(transport.Describer).Describe()
	if d.Exit != "exit status 3" || !strings.Contains(d.Stderr, "API_KEY") || d.PID == 0 {
		t.Errorf("described as %+v", d)
	}
}

func TestExitDuringCall(t *testing.T) {
	conn := connect(t, options("die"))
	if d := conn.(transport.Describer).Describe(); d.Exit != "" {
		t.Errorf("it runs, and is said to have ended: %q", d.Exit)
	}
	if err := conn.Send(t.Context(), mcp.Request("1", "x", nil)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Receive(t.Context())
	if exit, ok := errors.AsType[*stdio.ExitError](err); !ok || exit.Exit != "killed by SIGKILL" {
		t.Errorf("received %v", err)
	}
}

// A server that closes stdout is of no more use, and doesn't hold up Receive.
func TestClosedStdout(t *testing.T) {
	conn := connect(t, options("mute"))
	if m, err := conn.Receive(t.Context()); err == nil {
		t.Errorf("received %+v", m)
	}
}

// C2: a server that closes stdin and stays is of no more use, either: nothing of a message left, and the connection ends,
// so that the server can be started anew.
func TestClosedStdin(t *testing.T) {
	conn := connect(t, options("shut"))
	if _, err := conn.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := conn.Send(t.Context(), message("1", 100)); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("Send: %v", err)
		}
	}
	if m, err := conn.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), "doesn't read its input any more") {
		t.Errorf("received %+v, %v", m, err)
	}
}

// B1, case-291: standard error never blocks the server, and only its end is kept.
func TestChattyStderr(t *testing.T) {
	conn := connect(t, options("chatty"))
	ping(t, conn)
	if d := conn.(transport.Describer).Describe(); len(d.Stderr) == 0 || len(d.Stderr) > 4<<10 {
		t.Errorf("%d bytes of standard error", len(d.Stderr))
	}
}

func message(id string, size int) *mcp.Message {
	m := mcp.Request(mcp.ID(id), "x", []byte(`{"a":""}`))
	m.Params = fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat("y", size-len(m.AppendTo(nil))-1))
	return m
}

// A server that never reads holds nobody beyond their context. A message that fits a pipe's atomic write is sent whole
// or not at all.
func TestFullPipe(t *testing.T) {
	conn := connect(t, options("deaf"))
	for failed := 0; failed < 3; { // one time-out may be that of a busy machine
		switch err := sendWithin(t, conn, message("1", 4<<10)); {
		case err == nil:
			failed = 0
		case errors.Is(err, transport.ErrNotSent) && errors.Is(err, context.DeadlineExceeded):
			failed++
		default:
			t.Fatalf("Send: %v", err)
		}
	}
	var wg sync.WaitGroup
	for range 8 { // one writes, the others wait for their turn
		wg.Go(func() {
			if err := sendWithin(t, conn, message("2", 4<<10)); !errors.Is(err, transport.ErrNotSent) {
				t.Errorf("Send: %v", err)
			}
		})
	}
	wg.Wait()
}

// Half a message can't be taken back, so the connection ends.
func TestHalfWritten(t *testing.T) {
	conn := connect(t, options("nibble"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error)
	go func() { failed <- conn.Send(ctx, message("1", 1<<20)) }()
	if _, err := conn.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Fatalf("Send: %v", err)
	}
	if err := conn.Send(t.Context(), message("2", 100)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("then Send: %v", err)
	}
	if _, err := conn.Receive(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive: %v", err)
	}
}

func TestCloseFreesSend(t *testing.T) {
	conn := connect(t, options("deaf"))
	failed := make(chan error)
	go func() { failed <- conn.Send(context.Background(), message("1", 1<<20)) }()
	_ = conn.Close()
	if err := <-failed; err == nil {
		t.Error("Send succeeded")
	}
}

func sendWithin(t *testing.T, conn transport.Conn, m *mcp.Message) error {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	return conn.Send(ctx, m)
}

func TestTooLongToSend(t *testing.T) {
	conn := connect(t, options("echo"))
	if err := conn.Send(t.Context(), message("1", mcp.MaxMessage+1)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send: %v", err)
	}
	ping(t, conn)
}

// Lines of many senders don't mix, and each sender's stay in order.
func TestSendOrder(t *testing.T) {
	const senders, each = 8, 100
	conn := connect(t, options("echo"))
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				if err := conn.Send(t.Context(), mcp.Notification("n", fmt.Appendf(nil, `{"s":%d,"i":%d}`, s, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := conn.Send(t.Context(), mcp.Request("1", "told", nil)); err != nil {
		t.Fatal(err)
	}
	m, err := conn.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var next [senders]int
	for e := range mcp.Elements(mcp.Member(m.Result, "told")) {
		var s, i int
		if _, err := fmt.Sscanf(string(e), `{"s":%d,"i":%d}`, &s, &i); err != nil || next[s] != i {
			t.Fatalf("%s came, want number %d (%v)", e, next[s], err)
		}
		next[s]++
	}
	if next != [senders]int{each, each, each, each, each, each, each, each} {
		t.Errorf("there came %v", next)
	}
}

func TestCommandNotFound(t *testing.T) {
	if conn, err := stdio.New(stdio.Options{Command: "no-such-command"}).Connect(t.Context()); err == nil {
		_ = conn.Close()
		t.Error("connected")
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	conn, err := stdio.New(options("echo")).Connect(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	req := mcp.Request("1", "echo", []byte(`{"name":"x","arguments":{"text":"hello"}}`))
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Send(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Receive(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
