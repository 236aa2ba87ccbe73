package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	transporthttp "github.com/usher-mcp/usher/transport/http"
	"github.com/usher-mcp/usher/transport/sse"
)

func whats(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.What + ": " + s.Result + "\n")
	}
	return b.String()
}

// B3, B8, B10, case-062: a server of 2024-11-05 is found behind the URL by real sockets, and Info says how.
func TestFallbackToSSE(t *testing.T) {
	old := sse.NewServer(sse.ServerOptions{Handler: mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		switch m.Method {
		case mcp.MethodInitialize:
			return mcp.Parse([]byte(strings.ReplaceAll(strings.Replace(initialized, mcp.Revision20251125, mcp.Revision20241105, 1), "ID", string(m.ID))))
		case mcp.NotifyInitialized:
			return nil, nil
		}
		return mcp.Answer(m.ID, []byte(`{"got":`+string(m.Params)+`}`)), nil
	})})
	for _, code := range []int{400, 404, 405} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.RawQuery == "" {
				http.Error(w, "no", code)
				return
			}
			old.ServeHTTP(w, r)
		}))
		defer server.Close()
		defer old.Close()
		tr, err1 := transporthttp.New(transporthttp.Options{URL: server.URL})
		fallback, err2 := sse.New(sse.Options{URL: server.URL})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		s := connect(t, tr, Options{Fallback: fallback})
		i := s.Info()
		if !i.Fallback || i.Era != mcp.Legacy || i.Revision != mcp.Revision20241105 || !strings.Contains(i.Why, "HTTP status 40") {
			t.Errorf("%+v", i)
		}
		if got := whats(i.Steps); !strings.HasPrefix(got, "connect: ok\nserver/discover: ") || !strings.HasSuffix(got,
			"connect by HTTP+SSE: ok\ninitialize: ok\nnotifications/initialized: ok\n") {
			t.Errorf("steps:\n%s", got)
		}
		if m := callTool(t, s, `{"arguments":{"n":1.0}}`, nil); string(m.Result) != `{"got":{"arguments":{"n":1.0}}}` {
			t.Errorf("got %s", m.Result)
		}
		_ = s.Close()
	}
}

// Which refusals of initialize mean an old server; the error tells both reasons, the first one first.
func TestFallback(t *testing.T) {
	modern := `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"?","data":{"supported":["2031-01-01"]}}}`
	legacy := `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such page"}}`
	for name, c := range map[string]struct {
		err    error // of initialize
		answer string
		second string // what the old way says to initialize
		falls  bool
		kind   fault.Kind
		words  []string
	}{
		"404":               {err: status(404, "<html>"), second: initialized, falls: true},
		"405":               {err: status(405, ""), second: initialized, falls: true},
		"400, legacy code":  {err: status(400, legacy), answer: legacy, second: initialized, falls: true},
		"400, modern code":  {err: status(400, modern), answer: modern, kind: fault.ServerError},
		"400, body cut":     {err: status(400, modern[:30]), answer: modern, kind: fault.ServerError},
		"200, an error":     {answer: legacy, kind: fault.ServerError, words: []string{"no such page"}},
		"500":               {err: status(500, ""), kind: fault.ServerError, words: []string{"500"}},
		"401":               {err: status(401, ""), kind: fault.Auth},
		"403":               {err: status(403, ""), kind: fault.Auth},
		"not sent":          {err: errors.Join(transport.ErrNotSent, errors.New("refused")), kind: fault.Unavailable},
		"both":              {err: status(404, ""), second: errorLine("-32000", ""), falls: true, kind: fault.ServerError, words: []string{"status 404", "then by HTTP+SSE", "code -32000"}},
		"both, credentials": {err: status(405, ""), second: "401", falls: true, kind: fault.Auth, words: []string{"status 405", "HTTP status 401"}},
		"both, the old one dies": {err: status(405, ""), second: "die", falls: true, kind: fault.ServerError,
			words: []string{"status 405", "exit status 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			first := newPosts(lines(map[string]string{mcp.MethodDiscover: unknownMethod}, func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
				if c.answer == "" {
					return nil, c.err
				}
				a, err := mcp.Parse([]byte(c.answer))
				a.ID = m.ID
				return a, errors.Join(c.err, err)
			}))
			var old transport.Transport = newMemory(t, server(map[string]string{mcp.MethodInitialize: c.second}, nil))
			if c.second == "401" {
				old = newPosts(func(context.Context, *mcp.Message, mcp.Peer) (*mcp.Message, error) { return nil, status(401, "") })
			}
			s, err := Connect(t.Context(), first, Options{Name: "x", Fallback: old})
			if m, ok := old.(*memory); ok && (m.connects.Load() == 1) != c.falls {
				t.Errorf("%d connections by the old way", m.connects.Load())
			}
			if c.kind == "" {
				if err != nil || !s.Info().Fallback {
					t.Fatalf("%v, %v", s, err)
				}
				_ = s.Close()
				return
			}
			wantKind(t, err, c.kind, c.words...)
			if steps := Steps(err); len(steps) < 3 || steps[2].Result == "ok" || strings.Contains(whats(steps), "HTTP+SSE") != c.falls {
				t.Errorf("steps:\n%s", whats(steps))
			}
			if text := fault.Of(err).Text(fault.English); len(c.words) > 1 && strings.Index(text, c.words[0]) > strings.Index(text, c.words[1]) {
				t.Errorf("%s: the first reason isn't first", text)
			}
		})
	}
}

// B10: the steps of a handshake that dies, is tried again, and succeeds.
func TestSteps(t *testing.T) {
	s := connect(t, newMemory(t, server(map[string]string{mcp.MethodDiscover: "die", mcp.MethodInitialize: initialized}, nil)), Options{})
	want := "connect: ok\nserver/discover: the connection ended: EOF\nconnect again: ok\ninitialize: ok\nnotifications/initialized: ok\n"
	if got := whats(s.Info().Steps); got != want {
		t.Errorf("steps:\n%s", got)
	}
	_, err := Connect(t.Context(), newMemory(t, server(map[string]string{mcp.MethodDiscover: "die", mcp.MethodInitialize: "die"}, nil)), Options{})
	if got := whats(Steps(err)); !strings.HasSuffix(got, "connect again: ok\ninitialize: the connection ended: EOF\n") {
		t.Errorf("steps:\n%s", got)
	}
	if Steps(errors.New("other")) != nil {
		t.Error("steps of nothing")
	}
}
