package gateway

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/mcp"
)

const steps = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__up__steps","arguments":{},"_meta":{"progressToken":"t\u002F1"}}}`

// O3: progress comes before the answer, under the client's own token; what it didn't ask for doesn't come.
func TestProgress(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	r := c.post(steps)
	var want string
	for _, n := range []string{"1", "2", "3"} {
		want += "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\u002F1","progress":` + n + `}}` + "\n\n"
	}
	want += "event: message\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done "}],"resultType":"complete"}}` + "\n\n"
	if diff := cmp.Diff(want, r.body); diff != "" {
		t.Error(diff)
	}
	if r.header.Get("Content-Type") != streamType || r.header.Get("X-Accel-Buffering") != "no" {
		t.Error(r.header)
	}
	for name, r := range map[string]reply{
		"no token":  c.post(call("1", "steps", `{}`)),
		"JSON only": c.post(steps, "Accept: application/json"),
	} {
		if r.header.Get("Content-Type") != jsonType || strings.Contains(r.body, mcp.NotifyProgress) || r.code() != "" {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	body, headers := modern(mcp.MethodCallTool, `"name":"mcp__up__steps","arguments":{}`)
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":7,`, 1)
	if r := c.post(body, headers...); strings.Count(r.body, `"progressToken":7,`) != 3 || !strings.Contains(r.body, mcp.MetaServerInfo) {
		t.Errorf("modern: %s", r.body)
	}
}

// A stream brings what is told at once, and not with the answer.
func TestProgressIsPrompt(t *testing.T) {
	w := newWorld(t, Options{})
	x := make(chan *exchange)
	s := newHTTP(t, func(rw http.ResponseWriter, _ *http.Request) {
		e := &exchange{g: w.Gateway, w: rw, takes: accepted{true, true}}
		e.Notify(context.Background(), mcp.Notification(mcp.NotifyProgress, nil))
		x <- e
		<-x
		e.answer(mcp.Answer("1", nil), http.StatusOK)
	})
	resp, err := http.Get(s)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	e := receive(t, x)
	line, err := bufio.NewReader(resp.Body).ReadString('}')
	if err != nil || !strings.Contains(line, mcp.NotifyProgress) {
		t.Fatalf("%q %v", line, err)
	}
	x <- e
}

// D2: a stream that waits says that it lives.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{header: http.Header{}}
		e := &exchange{g: &Gateway{}, w: out, takes: accepted{true, true}}
		e.Notify(t.Context(), mcp.Notification(mcp.NotifyProgress, nil))
		time.Sleep(keepAlive*3 + time.Second)
		e.answer(mcp.Answer("1", nil), http.StatusOK)
		if got := strings.Count(out.String(), ":\n\n"); got != 3 {
			t.Errorf("%d comments in %q", got, out.String())
		}
		if !strings.HasSuffix(out.String(), "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n") {
			t.Error(out.String())
		}
	})
}

// J3: a flood for a client that doesn't read is bounded and blocks nobody; the answer comes all the same.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{header: http.Header{}, gate: make(chan struct{})}
		e := &exchange{g: &Gateway{}, w: out, takes: accepted{true, true}}
		m := mcp.Notification(mcp.NotifyProgress, []byte(`{"a":"`+strings.Repeat("x", 1000)+`"}`))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10_000 {
					e.Notify(t.Context(), m)
				}
			})
		}
		wg.Wait()
		e.mu.Lock()
		if len(e.queue) > maxQueued {
			t.Errorf("%d bytes queued", len(e.queue))
		}
		e.mu.Unlock()
		close(out.gate)
		e.answer(mcp.Answer("1", nil), http.StatusOK)
		if !strings.HasSuffix(out.String(), "\"result\":{}}\n\n") || len(out.String()) > 3*maxQueued {
			t.Errorf("%d bytes", len(out.String()))
		}
		e.Notify(t.Context(), m)
		if len(e.queue) != 0 {
			t.Error("something is told after the answer")
		}
	})
}

// slowWriter is a ResponseWriter that takes nothing before its gate opens.
type slowWriter struct {
	header http.Header
	gate   chan struct{}
	mu     sync.Mutex
	strings.Builder
}

func (s *slowWriter) Header() http.Header { return s.header }
func (s *slowWriter) WriteHeader(int)     {}
func (s *slowWriter) Flush()              {}
func (s *slowWriter) Write(b []byte) (int, error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Builder.Write(b)
}

// 2026-07-28, "Cancellation": closing the stream cancels.
func TestDisconnectCancelsModern(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	body, headers := modern(mcp.MethodCallTool, `"name":"mcp__up__wait","arguments":{"id":"gone"}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.send(ctx, body, headers...)
		ended <- err
	}()
	receive(t, w.up.started)
	cancel()
	if got := receive(t, w.up.cancelled); got != "gone" {
		t.Error(got)
	}
	receive(t, ended)
	eventually(t, "the call and the session end in the log", func() bool {
		types := strings.Join(w.log.Types(w.log.sessions()[0]), " ")
		return strings.HasSuffix(types, "mcp.call.failed tool.failed client.disconnected session.ended")
	})
}

// 2025-11-25, "Streamable HTTP": a disconnect is no cancellation, notifications/cancelled of the same session is one.
func TestDisconnectKeepsLegacy(t *testing.T) {
	w := newWorld(t, Options{})
	url := w.listen()
	c, other := w.client(url), w.client(url)
	c.hello()
	other.hello()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = c.send(ctx, call("9", "wait", `{"id":"stays"}`)) }()
	receive(t, w.up.started)
	cancel()
	if r := other.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`); r.status != http.StatusAccepted {
		t.Fatal(r)
	}
	close(w.up.release) // had it been cancelled, it would not answer
	eventually(t, "the call is completed in the log", func() bool {
		return strings.HasSuffix(strings.Join(w.log.Types(w.log.sessions()[0]), " "), "tool.completed")
	})
	if len(w.up.cancelled) > 0 {
		t.Error("the call was cancelled")
	}
}

func TestCancelLegacy(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client(w.listen())
	c.hello()
	answer := make(chan reply, 1)
	go func() {
		r, _ := c.send(context.Background(), call(`"a"`, "wait", `{"id":"x"}`))
		answer <- r
	}()
	receive(t, w.up.started)
	if r := c.post(call(`"a"`, "echo", `{}`)); r.status != http.StatusBadRequest || r.code() != "-32600" {
		t.Errorf("the same id twice: %d %s", r.status, r.body)
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`)
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
	if got := receive(t, w.up.cancelled); got != "x" {
		t.Error(got)
	}
	if r := receive(t, answer); r.status != http.StatusOK || !strings.Contains(r.body, `"isError":true`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if c.post(call(`"a"`, "echo", `{}`)).result(t) == nil {
		t.Error("the id can't be used again")
	}
}

// DELETE and Close cancel what runs, and end the session in the log only after it.
func TestEndWhileRunning(t *testing.T) {
	for name, end := range map[string]func(*world, *client){
		"DELETE": func(_ *world, c *client) { c.delete() },
		"Close": func(w *world, _ *client) {
			w.Close()
			if types := w.log.Types(w.log.sessions()[0]); types[len(types)-1] != "session.ended" {
				w.t.Errorf("after Close: %v", types)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			c := w.client(w.listen())
			c.hello()
			answer := make(chan reply, 1)
			go func() {
				r, _ := c.send(context.Background(), call("1", "wait", `{"id":"x"}`))
				answer <- r
			}()
			receive(t, w.up.started)
			end(w, c)
			receive(t, w.up.cancelled)
			if r := receive(t, answer); r.status != http.StatusOK {
				t.Errorf("%d %s", r.status, r.body)
			}
			eventually(t, "the session ends after its call", func() bool {
				return strings.HasSuffix(strings.Join(w.log.Types(w.log.sessions()[0]), " "), "tool.failed client.disconnected session.ended")
			})
			if r := c.post(listTools); r.status != http.StatusNotFound {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
}
