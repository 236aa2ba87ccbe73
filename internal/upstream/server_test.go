package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/sandbox"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/local"
	"github.com/usher-mcp/usher/transport/stdio"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__watchdog" {
		os.Exit(sandbox.Watchdog(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// dialer counts dials, and fails while fail is set.
type dialer struct {
	transport.Transport
	dials atomic.Int64
	fail  atomic.Bool
}

func (d *dialer) Connect(ctx context.Context) (transport.Conn, error) {
	d.dials.Add(1)
	if d.fail.Load() {
		return nil, errors.New("nobody is there")
	}
	return d.Transport.Connect(ctx)
}

var echo = mcp.HandlerFunc(func(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case mcp.MethodDiscover:
		return mcp.Answer(req.ID, json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)), nil
	case mcp.MethodListTools:
		return mcp.Answer(req.ID, json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)), nil
	}
	return mcp.Answer(req.ID, json.RawMessage(`{"content":[]}`)), nil
})

func start(t *testing.T, o Options) *Server {
	t.Helper()
	base := options(o.Kind, o.Transport)
	base.OnOffer, base.Record, base.Redact = o.OnOffer, o.Record, o.Redact
	s := New(t.Context(), base)
	t.Cleanup(func() { s.Close("closed") })
	return s
}

// C9, case-011: however many calls wait, one dial serves them all.
func TestOneDialForAll(t *testing.T) {
	d := &dialer{Transport: local.New(echo)}
	s := start(t, Options{Transport: d})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := ask(t.Context(), s, "echo"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := d.dials.Load(); n != 1 {
		t.Errorf("%d dials", n)
	}
}

// H5: what sending refuses doesn't leave.
func TestSendingRefuses(t *testing.T) {
	var calls atomic.Int64
	s := start(t, Options{Transport: local.New(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		if req.Method == mcp.MethodCallTool {
			calls.Add(1)
		}
		return echo(ctx, req, p)
	}))})
	refusal := errors.New("no")
	_, err := s.Do(t.Context(), Call{Request: request("echo"), Sending: func(context.Context, int, error) error { return refusal }})
	if err != refusal || calls.Load() != 0 {
		t.Errorf("got %v, %d calls", err, calls.Load())
	}
}

// C4: a real process that dies with a call in its hands fails that call; it is never sent again, and the next call
// finds the server started anew.
func TestCrashedProcess(t *testing.T) {
	dir := t.TempDir()
	bin, journal := filepath.Join(dir, "server"), filepath.Join(dir, "journal")
	if out, err := exec.Command("go", "build", "-o", bin, "../../test/server").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	r := new(recorder)
	s := start(t, Options{Kind: kindStdio, Record: r.record, Transport: stdio.New(stdio.Options{
		Command: bin, Args: []string{"-journal", journal}, Launcher: sandbox.Launcher{Watchdog: []string{os.Args[0], "__watchdog"}},
	})})
	_, err := ask(t.Context(), s, "die")
	if fault.KindOf(err) != fault.Restarted {
		t.Errorf("the call that killed it: %v", err)
	}
	if err := s.main.await(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	m, err := ask(t.Context(), s, "echo")
	if err != nil || mcp.ResultText(m.Result) != "x" {
		t.Errorf("the next call: %+v, %v", m, err)
	}
	saw, err := os.ReadFile(journal)
	if err != nil || string(saw) != "die \necho \n" {
		t.Errorf("the server saw %q, %v", saw, err)
	}
	s.Close("closed")
	if r.count("mcp.server.crashed") != 1 || r.count("mcp.server.connected") != 2 || r.count("mcp.server.shutdown") != 1 {
		t.Errorf("events %v", r.take())
	}
}

// A call of a closed server fails; Close is idempotent.
func TestClosed(t *testing.T) {
	s := start(t, Options{Transport: local.New(echo)})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close("closed")
	s.Close("closed")
	if _, err := ask(t.Context(), s, "echo"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// E6, case-204: list_changed, however often, lists again, also when it comes before the server counts as up.
func TestListChanged(t *testing.T) {
	lists := make(chan int, 10)
	n := 0
	s := start(t, Options{
		Transport: local.New(echo),
		OnOffer:   func() { n++; lists <- n },
	})
	s.notified(mcp.Notification(mcp.NotifyTools, nil)) // nobody is up yet
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-lists
	for range 5 {
		s.notified(mcp.Notification(mcp.NotifyTools, nil))
	}
	if got := <-lists; got != 2 {
		t.Errorf("listing %d", got)
	}
}
