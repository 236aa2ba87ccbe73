package http

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func TestHandleJSON(t *testing.T) { // B2
	var got *mcp.Message
	var head nethttp.Header
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		got, head = readMessage(r), r.Header
		writeJSON(w, 200, `{"jsonrpc":"2.0","id":7,"result":{"n":1.50,"keep":"as it is"}}`)
	})
	c := connect(t, Options{URL: s.URL, Header: nethttp.Header{"authorization": {"Bearer s3cret"}, "accept": {"text/html"}}})
	m, err := c.Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Result) != `{"n":1.50,"keep":"as it is"}` || m.ID != "7" {
		t.Errorf("answer = %s %s", m.ID, m.Result)
	}
	if got.Method != "tools/call" || string(got.Params) != `{"name":"echo"}` {
		t.Errorf("the server read %+v", got)
	}
	for name, want := range map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Authorization": "Bearer s3cret", "User-Agent": "usher", "Mcp-Session-Id": "", "Mcp-Protocol-Version": "",
	} {
		if v := head.Get(name); v != want {
			t.Errorf("%s = %q, want %q", name, v, want)
		}
	}
}

func TestHandleUnusableAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"wrong id":       `{"jsonrpc":"2.0","id":8,"result":{}}`,
		"id as string":   `{"jsonrpc":"2.0","id":"7","result":{}}`,
		"a request":      `{"jsonrpc":"2.0","id":7,"method":"ping"}`,
		"a notification": `{"jsonrpc":"2.0","method":"notifications/message"}`,
		"a batch":        `[{"jsonrpc":"2.0","id":7,"result":{}}]`,
		"duplicate key":  `{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`,
		"invalid UTF-8":  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":\"\xff\"}}",
		"nothing":        ``,
		"no result id":   `{"jsonrpc":"2.0","id":null,"result":{}}`,
	} {
		for _, stream := range []bool{false, true} {
			s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				if stream {
					startEvents(w)(body)
					return
				}
				writeJSON(w, 200, body)
			})
			m, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), peerOf(nil))
			b, ok := errors.AsType[*transport.Broken](err)
			if stream && !ok && errors.Is(err, ErrCut) {
				continue // what is no answer is read over; then the stream ends without one
			}
			if m != nil || !ok || b.Message.ID != "7" {
				t.Errorf("%s, stream %v: %v, %v", name, stream, m, err)
			}
		}
	}
}

func peerOf(reply func(context.Context, *mcp.Message) (*mcp.Message, error)) *peer {
	if reply == nil {
		reply = mcp.Nobody.Request
	}
	return &peer{reply: reply}
}

func TestHandleErrorWithoutID(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		writeJSON(w, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
	})
	m, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
	if err != nil || m.ID != "7" || m.Err().Code != mcp.CodeParse {
		t.Errorf("%+v, %v", m, err)
	}
}

// endless writes for ever, until the reader goes.
func endless(w io.Writer, block []byte) {
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestHandleBoundsAnswers(t *testing.T) { // X4: also behind gzip
	block := []byte(strings.Repeat("a", 64<<10))
	for name, h := range map[string]nethttp.HandlerFunc{
		"json": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "application/json")
			endless(w, block)
		},
		"json, length told": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(1<<40))
			_, _ = w.Write(block)
		},
		"gzip": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			endless(gzip.NewWriter(w), block)
		},
		"events": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			startEvents(w)
			_, _ = io.WriteString(w, "data: ")
			endless(w, block)
		},
	} {
		s := serve(t, h)
		_, err := connect(t, Options{URL: s.URL}).Handle(within(t, 30*time.Second), call(7), mcp.Nobody)
		if b, ok := errors.AsType[*transport.Broken](err); !ok || b.Message.ID != "7" || !strings.Contains(err.Error(), "16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHandleLargeAnswer(t *testing.T) { // case-279: 15 MiB pass on both ways
	large := `{"jsonrpc":"2.0","id":7,"result":{"text":"` + strings.Repeat("x", 15<<20) + `"}}`
	for _, stream := range []bool{false, true} {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			if stream {
				startEvents(w)(large)
				return
			}
			writeJSON(w, 200, large)
		})
		m, err := connect(t, Options{URL: s.URL}).Handle(within(t, 30*time.Second), call(7), mcp.Nobody)
		if err != nil || len(m.Result) != 15<<20+len(`{"text":""}`) {
			t.Errorf("stream %v: %v", stream, err)
		}
	}
}

func TestHandleCancelClosesTheRequest(t *testing.T) { // 2026-07-28: cancel = close
	for _, stream := range []bool{false, true} {
		begun, gone := make(chan struct{}), make(chan struct{})
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			readMessage(r)
			if stream {
				startEvents(w)(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
			}
			close(begun)
			<-r.Context().Done()
			close(gone)
		})
		c := connect(t, Options{URL: s.URL})
		ctx, cancel := context.WithCancel(within(t, 10*time.Second))
		go func() { <-begun; cancel() }()
		_, err := c.Handle(ctx, call(7), mcp.Nobody)
		if !errors.Is(err, context.Canceled) || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("stream %v: %v", stream, err)
		}
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Errorf("stream %v: the server never saw the request end", stream)
		}
	}
}

func TestHandleDeadline(t *testing.T) {
	s := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { readMessage(r); <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := connect(t, Options{URL: s.URL}).Handle(ctx, call(7), mcp.Nobody)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestHandleKeepsOneConnection(t *testing.T) { // case-293
	for _, stream := range []bool{false, true} {
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			m := readMessage(r)
			if stream {
				startEvents(w)(answerText(m.ID))
				return
			}
			writeAnswer(w, m)
		})
		var mu sync.Mutex
		dialled := 0
		c := connect(t, Options{URL: s.URL})
		ctx := httptrace.WithClientTrace(within(t, 30*time.Second), &httptrace.ClientTrace{
			ConnectDone: func(string, string, error) { mu.Lock(); defer mu.Unlock(); dialled++ },
		})
		for i := range int64(100) {
			// Each call's context ends with the call, as callers do it.
			one, cancel := context.WithCancel(ctx)
			if _, err := c.Handle(one, call(i), mcp.Nobody); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		mu.Lock()
		// The end of a stream comes in a packet of its own. A busy machine may delay one beyond what a call waits.
		if limit := map[bool]int{false: 1, true: 3}[stream]; dialled == 0 || dialled > limit {
			t.Errorf("stream %v: %d TCP connections for 100 calls", stream, dialled)
		}
		mu.Unlock()
	}
}

func TestHandleConcurrently(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		send := startEvents(w)
		send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":` + string(m.ID) + `}}`)
		send(answerText(m.ID))
	})
	c := connect(t, Options{URL: s.URL})
	ctx := within(t, 30*time.Second)
	var wg sync.WaitGroup
	for i := range int64(64) {
		wg.Go(func() {
			p := peerOf(nil)
			m, err := c.Handle(ctx, call(i), p)
			want := fmt.Sprintf(`notifications/progress{"id":%d}`, i)
			if err != nil || m.ID != mcp.IntID(i) || len(p.heard()) != 1 || p.heard()[0] != want {
				t.Errorf("%d: %v %v %v", i, m, err, p.heard())
			}
		})
	}
	wg.Wait()
}
