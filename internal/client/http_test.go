package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// posts is a Conn that takes requests itself, as the one over HTTP does.
type posts struct {
	memoryConn
	handle func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error)

	mu     sync.Mutex
	sent   []*mcp.Message
	refuse error // what Send returns
}

func newPosts(h mcp.HandlerFunc) *posts {
	return &posts{memoryConn: memoryConn{&wire{out: make(chan any), closed: make(chan struct{}), over: make(chan struct{})}}, handle: h}
}

func (c *posts) Connect(context.Context) (transport.Conn, error) { return c, nil }

func (c *posts) Handle(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
	return c.handle(ctx, m, p)
}

func (c *posts) Send(_ context.Context, m *mcp.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, m)
	return c.refuse
}

// lines answers by method, as server does.
func lines(by map[string]string, then mcp.HandlerFunc) mcp.HandlerFunc {
	return func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		line, ok := by[m.Method]
		if !ok {
			return then(ctx, m, p)
		}
		return mcp.Parse([]byte(strings.ReplaceAll(line, "ID", string(m.ID))))
	}
}

func status(code int, body string) error {
	return fmt.Errorf("posting: %w", &transport.StatusError{Status: code, Body: []byte(body)})
}

// B8: the era over HTTP.
func TestEraOverHTTP(t *testing.T) {
	refusal := strings.ReplaceAll(errorLine("-32022", `{"supported":["2031-01-01"]}`), "ID", "null")
	for name, c := range map[string]struct {
		probe error
		want  mcp.Era
		kind  fault.Kind
	}{
		"400":              {probe: status(400, "what?"), want: mcp.Legacy},
		"404":              {probe: status(404, ""), want: mcp.Legacy},
		"405":              {probe: status(405, ""), want: mcp.Legacy},
		"500":              {probe: status(500, "<html>"), want: mcp.Legacy},
		"200, a page":      {probe: status(200, "<html>"), want: mcp.Legacy},
		"400, legacy code": {probe: status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`), want: mcp.Legacy},
		"400, modern code": {probe: status(400, refusal), kind: fault.Protocol},
		"unreadable":       {probe: &transport.Broken{Reason: errors.New("not JSON")}, want: mcp.Legacy},
		"cut":              {probe: errors.New("connection reset"), want: mcp.Legacy},
		"401":              {probe: status(401, ""), kind: fault.Auth},
		"403":              {probe: status(403, refusal), kind: fault.Auth},
		"no server":        {probe: errors.Join(transport.ErrNotSent, errors.New("connection refused")), kind: fault.Unavailable},
		"silence":          {want: mcp.Legacy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := newPosts(lines(map[string]string{mcp.MethodInitialize: initialized},
					func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
						if c.probe == nil {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return nil, c.probe
					}))
				s, err := Connect(t.Context(), conn, Options{})
				if c.kind != "" {
					wantKind(t, err, c.kind)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if s.Info().Era != c.want {
					t.Errorf("got %+v", s.Info())
				}
				_ = s.Close()
			})
		})
	}
}

// A JSON-RPC error is an answer, whatever HTTP status came with it; but not where it is a matter of credentials.
func TestErrorWithStatus(t *testing.T) {
	code := 404
	s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		return mcp.ErrorAnswer(m.ID, -32601, "no", nil), status(code, "")
	})), Options{})
	if m := callTool(t, s, `{}`, nil); m.Err() == nil || m.Err().Code != -32601 {
		t.Errorf("got %+v", m)
	}
	code = 401
	_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
	wantKind(t, err, fault.Auth, "401")
}

// D5: failures of a transport are sorted.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kind fault.Kind
	}{
		"403":       {status(403, ""), fault.Auth},
		"503":       {status(503, ""), fault.ServerError},
		"202":       {status(202, ""), fault.Protocol},
		"expired":   {fmt.Errorf("%w: %w", transport.ErrSessionExpired, status(404, "")), fault.SessionExpired},
		"not sent":  {fmt.Errorf("%w: refused", transport.ErrNotSent), fault.Unavailable},
		"cut":       {errors.New("unexpected EOF"), fault.Restarted},
		"authorize": {fmt.Errorf("%w: %w", transport.ErrNotSent, fault.New(fault.Auth, "no token")), fault.Auth},
		"too large": {&transport.Broken{Reason: fault.New(fault.TooLarge, "16 MiB")}, fault.TooLarge},
		"other id":  {nil, fault.Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) {
				return mcp.Answer("4711", nil), c.err
			})), Options{Name: "x"})
			_, err := s.Handle(t.Context(), mcp.Request("1", mcp.MethodCallTool, nil), nil)
			wantKind(t, err, c.kind)
			if fault.Of(err).Server != "x" || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%#v names no server, or hides its cause", err)
			}
		})
	}
}

// What comes on the stream of a call: its own progress and logs go to its peer, the rest to the session.
func TestStreamOfACall(t *testing.T) {
	var session []string
	conn := newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(ctx context.Context, m *mcp.Message, p mcp.Peer) (*mcp.Message, error) {
		note := func(method, params string) { p.Notify(ctx, mcp.Notification(method, []byte(params))) }
		note(mcp.NotifyProgress, `{"progressToken":`+string(m.ID)+`,"progress":1.0}`)
		note(mcp.NotifyProgress, `{"progressToken":99}`)
		note(mcp.NotifyMessage, `{"data":1.0}`)
		note(mcp.NotifyTools, `{}`)
		note(mcp.NotifyCancelled, `{}`)
		if a, err := p.Request(ctx, mcp.Request("1", "roots/list", nil)); err != nil || a.Err().Code != mcp.CodeMethodNotFound {
			t.Errorf("roots/list was answered with %v, %v", a, err)
		}
		return mcp.Answer(m.ID, nil), nil
	}))
	s := connect(t, conn, Options{OnNotify: func(m *mcp.Message) { session = append(session, m.Method) }})
	p := new(peer)
	callTool(t, s, `{"_meta":{"progressToken":"a"}}`, p)
	want := []string{`notifications/progress {"progressToken":"a","progress":1.0}`, `notifications/message {"data":1.0}`}
	if d := cmp.Diff(want, p.all()); d != "" || s.Strays() != 1 {
		t.Errorf("%d strays; %s", s.Strays(), d)
	}
	if d := cmp.Diff([]string{mcp.NotifyTools}, session); d != "" {
		t.Error(d)
	}
}

// A call that is given up: a modern server sees its stream close, a legacy one is told.
func TestGivenUpOverHTTP(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		synctest.Test(t, func(t *testing.T) {
			by := map[string]string{mcp.MethodDiscover: discovered}
			if era == mcp.Legacy {
				by = map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: initialized}
			}
			conn := newPosts(lines(by, func(ctx context.Context, _ *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			s := connect(t, conn, Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.Handle(ctx, mcp.Request("1", mcp.MethodCallTool, nil), nil)
			wantKind(t, err, fault.Timeout)
			synctest.Wait()
			conn.mu.Lock()
			defer conn.mu.Unlock()
			told := slices.ContainsFunc(conn.sent, func(m *mcp.Message) bool {
				return m.Method == mcp.NotifyCancelled && m.Mirror.Revision == mcp.Revision20251125
			})
			if told != (era == mcp.Legacy) {
				t.Errorf("%s: told %v", era, told)
			}
		})
	}
}

// What is mirrored in headers, by era and method.
func TestMirror(t *testing.T) {
	var got *mcp.Mirror
	note := func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		got = m.Mirror
		return mcp.Answer(m.ID, nil), nil
	}
	tools := page(`{"name":"a b","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"Region"},`+
		`"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}},`+
		`{"name":"bad","inputSchema":{"properties":{"r":{"type":"number","x-mcp-header":"R"}}}}`, "")
	modern := map[string]string{mcp.MethodDiscover: discovered, mcp.MethodListTools: tools}
	s := connect(t, newPosts(lines(modern, note)), Options{})
	list, err := s.Tools(t.Context())
	if err != nil || len(list) != 1 || len(s.Dropped()) != 1 {
		t.Fatalf("%v, %v, dropped %v", list, err, s.Dropped())
	}
	r := mcp.Revision20260728
	for _, c := range []struct {
		method, params string
		want           *mcp.Mirror
	}{
		{mcp.MethodCallTool, `{"name":"a b","arguments":{"r":"\u00fc","o":{"n":1.0}}}`, &mcp.Mirror{Revision: r, Method: mcp.MethodCallTool, Name: "a b",
			Params: []mcp.Param{{Name: "Region", Value: "ü"}, {Name: "N", Value: "1"}}}},
		{mcp.MethodCallTool, `{"name":"a b","arguments":{"r":null}}`, &mcp.Mirror{Revision: r, Method: mcp.MethodCallTool, Name: "a b"}},
		{mcp.MethodCallTool, `{"name":"other","arguments":{"r":"x"}}`, &mcp.Mirror{Revision: r, Method: mcp.MethodCallTool, Name: "other"}},
		{mcp.MethodGetPrompt, `{"name":"p"}`, &mcp.Mirror{Revision: r, Method: mcp.MethodGetPrompt, Name: "p"}},
		{mcp.MethodReadResource, `{"uri":"u:x"}`, &mcp.Mirror{Revision: r, Method: mcp.MethodReadResource, Name: "u:x"}},
		{"tasks/cancel", `{"taskId":"7"}`, &mcp.Mirror{Revision: r, Method: "tasks/cancel", Name: "7"}},
		{mcp.MethodListPrompts, `{"name":"p"}`, &mcp.Mirror{Revision: r, Method: mcp.MethodListPrompts}},
	} {
		if _, err := s.Handle(t.Context(), mcp.Request("1", c.method, []byte(c.params)), nil); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s: %s", c.method, c.params, d)
		}
	}
	for revision, want := range map[string]*mcp.Mirror{
		"2025-06-18": {Revision: "2025-06-18"}, "2025-03-26": {}, "2024-11-05": {},
	} {
		by := map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: strings.Replace(initialized, "2025-11-25", revision, 1)}
		conn := newPosts(lines(by, note))
		s := connect(t, conn, Options{})
		callTool(t, s, `{"name":"x"}`, nil)
		if d := cmp.Diff(want, conn.sent[0].Mirror); d != "" {
			t.Errorf("%s of %s: %s", conn.sent[0].Method, revision, d)
		}
		if d := cmp.Diff(want, got); d != "" || s.Info().Revision != revision {
			t.Errorf("%s: %s", revision, d)
		}
	}
}

// A tool whose header annotations changed is called again after the tools were listed anew, and only then.
func TestHeaderMismatch(t *testing.T) {
	listed, called := 0, 0
	conn := newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		if m.Method == mcp.MethodListTools {
			listed++
			name := strings.Repeat("R", min(listed, 2))
			return mcp.Parse([]byte(strings.ReplaceAll(page(`{"name":"a","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"`+name+`"}}}}`, ""), "ID", string(m.ID))))
		}
		called++
		if len(m.Mirror.Params) == 1 && m.Mirror.Params[0].Name == "RR" && mcp.Member(m.Params, "fail") == nil {
			return mcp.Answer(m.ID, nil), nil
		}
		return mcp.ErrorAnswer(m.ID, mcp.CodeHeaderMismatch, "headers", nil), status(400, "")
	}))
	s := connect(t, conn, Options{})
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := callTool(t, s, `{"name":"a","arguments":{"r":"x"}}`, nil); m.Error != nil || listed != 2 || called != 2 {
		t.Errorf("%s; listed %d, called %d times", m.Error, listed, called)
	}
	if m := callTool(t, s, `{"name":"a","fail":1,"arguments":{"r":"x"}}`, nil); m.Error == nil || listed != 3 || called != 3 {
		t.Errorf("%s; listed %d, called %d times", m.Error, listed, called)
	}
}

// A listing that fails keeps what an earlier one told of the headers.
func TestHeadersOutliveAFailedListing(t *testing.T) {
	line := page(`{"name":"a","inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"R"}}}}`, "")
	mirrored := 0
	s := connect(t, newPosts(lines(map[string]string{mcp.MethodDiscover: discovered}, func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		if m.Method == mcp.MethodListTools {
			return mcp.Parse([]byte(strings.ReplaceAll(line, "ID", string(m.ID))))
		}
		mirrored = len(m.Mirror.Params)
		return mcp.Answer(m.ID, nil), nil
	})), Options{})
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	line = errorLine("-32603", "")
	if _, err := s.Tools(t.Context()); err == nil {
		t.Fatal("the second listing succeeded")
	}
	if callTool(t, s, `{"name":"a","arguments":{"r":"x"}}`, nil); mirrored != 1 {
		t.Errorf("%d headers", mirrored)
	}
}

// A server that refuses notifications/initialized still works; one that refuses our credentials doesn't.
func TestInitializedIsRefused(t *testing.T) {
	by := map[string]string{mcp.MethodDiscover: unknownMethod, mcp.MethodInitialize: initialized}
	conn := newPosts(lines(by, nil))
	conn.refuse = status(405, "")
	connect(t, conn, Options{})
	conn = newPosts(lines(by, nil))
	conn.refuse = status(401, "")
	_, err := Connect(t.Context(), conn, Options{})
	wantKind(t, err, fault.Auth)
	conn = newPosts(lines(by, nil))
	conn.refuse = fmt.Errorf("%w: %w", transport.ErrSessionExpired, status(404, ""))
	_, err = Connect(t.Context(), conn, Options{})
	wantKind(t, err, fault.SessionExpired)
}
