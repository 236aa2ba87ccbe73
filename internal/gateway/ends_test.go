package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/ws"
)

// ends serves all ways but stdio and returns how each is reached.
func (w *world) ends() map[string]transport.Transport {
	w.t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/ws", w.WebSocket())
	mux.Handle("/sse", w.SSE())
	s := httptest.NewUnstartedServer(mux)
	w.Attach(s.Config)
	s.Start()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.ServeGRPC(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	w.t.Cleanup(func() {
		w.Close()
		s.Close()
		client.CloseIdleConnections()
		if err := receive(w.t, served); err != nil {
			w.t.Error(err)
		}
	})
	all := map[string]transport.Transport{}
	add := func(via string, t transport.Transport, err error) {
		if err != nil {
			w.t.Fatal(err)
		}
		all[via] = t
	}
	overWS, err := ws.New(ws.Options{URL: s.URL + "/ws", Client: client})
	add(viaWS, overWS, err)
	overSSE, err := sse.New(sse.Options{URL: s.URL + "/sse", Client: client})
	add(viaSSE, overSSE, err)
	overGRPC, err := grpc.New(grpc.Options{URL: "grpc://" + l.Addr().String()})
	add(viaGRPC, overGRPC, err)
	return all
}

// wired is a connection on which lines are said, as in the tests of stdio.
type wired struct {
	t testing.TB
	transport.Conn
}

func dialled(t testing.TB, way transport.Transport) *wired {
	t.Helper()
	c, err := way.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &wired{t, c}
}

func (c *wired) say(text string) {
	c.t.Helper()
	m, err := mcp.Parse([]byte(text))
	if err == nil {
		err = c.Send(c.t.Context(), m)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *wired) hear() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := c.Receive(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(m.AppendTo(nil))
}

func (c *wired) ask(text string) string {
	c.t.Helper()
	c.say(text)
	return c.hear()
}

// O1, O2, O3: a legacy client on each way, which hears progress, is told when the tools change, and can cancel.
func TestEndsLegacy(t *testing.T) {
	w := newWorld(t, Options{})
	for via, way := range w.ends() {
		t.Run(via, func(t *testing.T) {
			w.up.extra.Store(false)
			c := dialled(t, way)
			if got := c.ask(hello); !strings.Contains(got, `"capabilities":{"tools":{"listChanged":true}}`) || !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
				t.Error(got)
			}
			c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			if got := c.ask(call("1", "odd", `{}`)); got != `{"jsonrpc":"2.0","id":1,"result":`+oddResult+`}` {
				t.Error(got)
			}
			if got := []string{c.ask(steps), c.hear(), c.hear(), c.hear()}; !strings.Contains(got[0], `"progress":1`) || !strings.Contains(got[3], `"result"`) {
				t.Error(got)
			}
			c.say(call("5", "wait", `{"id":"c"}`))
			receive(t, w.up.started)
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
			receive(t, w.up.cancelled)
			if got := c.ask(`{"jsonrpc":"2.0","id":6,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":6,"result":{}}` {
				t.Error(got)
			}
			w.sawSession(via, `"name":"test","version":"1","era":"legacy"}`)
			_ = c.Close()
			w.sawEnd("disconnected")
		})
	}
	c := dialled(t, w.ends()[viaWS])
	c.ask(hello)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.say(call("3", "grow", `{}`))
	if got := []string{c.hear(), c.hear()}; !slices.Contains(got, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) {
		t.Error(got)
	}
}

// sawSession wants the last session's first event to be about a client that came by via.
func (w *world) sawSession(via, rest string) {
	w.t.Helper()
	names := w.log.sessions()
	if got := string(w.log.Events(names[len(names)-1])[1].Data); got != `{"via":"`+via+`",`+rest {
		w.t.Error(got)
	}
}

func (w *world) sawEnd(reason string) {
	w.t.Helper()
	names := w.log.sessions()
	last := names[len(names)-1]
	eventually(w.t, "the session ends", func() bool {
		events := w.log.Events(last)
		return string(events[len(events)-1].Data) == `{"reason":"`+reason+`"}`
	})
}

// O1: a modern client on each way.
func TestEndsModern(t *testing.T) {
	w := newWorld(t, Options{})
	for via, way := range w.ends() {
		t.Run(via, func(t *testing.T) {
			c := dialled(t, way)
			discover, _ := modern(mcp.MethodDiscover, "")
			if got := c.ask(discover); !strings.Contains(got, `"supportedVersions":["2026-07-28"]`) {
				t.Error(got)
			}
			odd, _ := modern(mcp.MethodCallTool, `"name":"mcp__up__odd","arguments":{}`)
			if got := c.ask(odd); got != `{"jsonrpc":"2.0","id":1,"result":`+oddResult[:len(oddResult)-1]+`,"_meta":`+string(w.words.meta)+`}}` {
				t.Error(got)
			}
			w.sawSession(via, `"name":"mod","version":"2","era":"modern"}`)
		})
	}
}

// Close ends what runs and what is open, and answers calls first.
func TestEndsClose(t *testing.T) {
	w := newWorld(t, Options{})
	for via, way := range w.ends() {
		c := dialled(t, way)
		c.ask(hello)
		c.say(call("7", "wait", `{"id":"`+via+`"}`))
		receive(t, w.up.started)
		defer func() {
			if got := c.hear(); !strings.Contains(got, `"id":7,`) || !strings.Contains(got, "was cancelled") {
				t.Errorf("%s: %s", via, got)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if m, err := c.Receive(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("%s: %v %v after the end", via, m, err)
			}
			w.sawEnd("closed")
		}()
	}
	begun := time.Now()
	w.Close()
	if took := time.Since(begun); took > patience {
		t.Errorf("Close took %v", took)
	}
	if h, end := w.Front("ws"); h != nil || end != nil {
		t.Error("a closed gateway opens a front")
	}
	w.own(func() { begun = time.Time{} })
	if !begun.IsZero() {
		t.Error("what comes after Close isn't ended")
	}
}

// J1: all ways share one bound, and a connection that ends makes room.
func TestEndsBounded(t *testing.T) {
	w := newWorld(t, Options{MaxConnections: 1})
	ways := w.ends()
	for via, way := range ways {
		c := dialled(t, way)
		c.ask(hello)
		for other, way := range ways {
			if full, err := way.Connect(t.Context()); err == nil { // ws is open before it is refused
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				if m, err := full.Receive(ctx); err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
					t.Errorf("%s beside %s: %v %v", other, via, m, err)
				}
				cancel()
				_ = full.Close()
			}
		}
		if err := w.ServeStdio(t.Context(), strings.NewReader(hello+"\n"), io.Discard); !errors.Is(err, errFull) {
			t.Error(err)
		}
		_ = c.Close()
		eventually(t, "room again", func() bool { return len(w.connected()) == 0 })
	}
}

// S2: one guard for all that web pages could reach, and Origin where a proxy passes it on over gRPC.
func TestEndsGuarded(t *testing.T) {
	w := newWorld(t, Options{})
	mux := http.NewServeMux()
	mux.Handle("/ws", w.WebSocket())
	mux.Handle("/sse", w.SSE())
	url := newHTTP(t, mux.ServeHTTP)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for header, want := range map[string]int{
		"Origin: http://evil.example":           http.StatusForbidden,
		"Origin: null":                          http.StatusForbidden,
		"Host: evil.example":                    http.StatusForbidden,
		"Sec-Fetch-Site: cross-site":            http.StatusForbidden,
		"Origin: http://localhost:6274":         http.StatusSwitchingProtocols,
		"Origin: http://localhost.evil.example": http.StatusForbidden,
	} {
		for _, path := range []string{"/ws", "/sse"} {
			ctx, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
			if path == "/ws" {
				req.Header = http.Header{
					"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
					"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {"mcp"},
				}
			} else if want == http.StatusSwitchingProtocols {
				want = http.StatusOK
			}
			name, value, _ := strings.Cut(header, ": ")
			if name == "Host" {
				req.Host = value
			}
			req.Header.Set(name, value)
			r, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != want {
				t.Errorf("%s %s: %d, want %d", path, header, r.StatusCode, want)
			}
			if r.StatusCode == http.StatusForbidden {
				body, _ := io.ReadAll(r.Body)
				if !json.Valid(body) {
					t.Errorf("%s", body)
				}
			}
			_ = r.Body.Close()
			cancel()
		}
	}
	w.Close()
	if _, _, err := w.openGRPC(t.Context(), grpc.Client{Header: map[string][]string{"origin": {"http://evil.example"}}}); err == nil || errors.Is(err, errFull) {
		t.Error(err)
	}
}
