package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func TestStreamOrder(t *testing.T) { // all that is told precedes the return
	var want []string
	s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		send := startEvents(w)
		_, _ = io.WriteString(w, ": a comment\r\n\r\nid: 1\nretry: 500\ndata:\n\nevent: ping\ndata: {}\n\ndata: not JSON\n\n")
		for i := range 50 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i))
		}
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n")
	})
	for i := range 50 {
		want = append(want, fmt.Sprintf(`notifications/progress{"progress":%d}`, i))
	}
	p := peerOf(nil)
	m, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), p)
	if err != nil || m.ID != "7" || string(m.Result) != `{}` {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := p.heard(); !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
}

// The question is asked in a goroutine of its own: the stream goes on meanwhile.
func TestStreamQuestion(t *testing.T) {
	replies := make(chan *mcp.Message, 1)
	told := make(chan struct{})
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		if m.IsAnswer() {
			if r.Header.Get("Mcp-Protocol-Version") != mcp.Revision20251125 || r.Header.Get("Authorization") != "Bearer x" {
				t.Errorf("the reply has the headers %v", r.Header)
			}
			w.WriteHeader(202)
			replies <- m
			return
		}
		send := startEvents(w)
		send(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}`)
		send(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		send(string(mcp.Answer(m.ID, (<-replies).AppendTo(nil)).AppendTo(nil)))
	})
	p := &teller{peer: peerOf(func(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
		select {
		case <-told:
		case <-ctx.Done():
		}
		return mcp.Answer("another id", []byte(`{"action":"accept"}`)), nil
	}), told: told}
	req := call(7)
	req.Mirror = &mcp.Mirror{Revision: mcp.Revision20251125}
	c := connect(t, Options{URL: s.URL, Header: nethttp.Header{"Authorization": {"Bearer x"}}})
	m, err := c.Handle(within(t, 5*time.Second), req, p)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":"q1","result":{"action":"accept"}}`; string(m.Result) != want {
		t.Errorf("the server read %s", m.Result)
	}
}

// teller says when it was told something.
type teller struct {
	*peer
	told chan struct{}
}

func (p *teller) Notify(context.Context, *mcp.Message) { close(p.told) }

func TestStreamAnswerEndsQuestions(t *testing.T) {
	var asking atomic.Int32
	asked := make(chan struct{}, maxQuestions)
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		send := startEvents(w)
		for i := range maxQuestions {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
		}
		for range maxQuestions {
			<-asked
		}
		send(answerText(m.ID))
	})
	p := peerOf(func(ctx context.Context, _ *mcp.Message) (*mcp.Message, error) {
		asking.Add(1)
		defer asking.Add(-1)
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), p); err != nil {
		t.Error(err)
	}
	if n := asking.Load(); n != 0 {
		t.Errorf("%d questions outlived the call", n)
	}
}

// A peer that fails and a request that can't be read are both answered, so that the server doesn't wait.
func TestStreamAnswersEveryQuestion(t *testing.T) {
	for question, code := range map[string]int{
		`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`:                        mcp.CodeInternal,
		`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"a":1,"a":2}}`: mcp.CodeInvalidRequest,
	} {
		replies := make(chan *mcp.Message, 1)
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			m := readMessage(r)
			if m.IsAnswer() {
				replies <- m
				w.WriteHeader(400) // the refusal of a reply doesn't fail the call
				return
			}
			send := startEvents(w)
			send(question)
			if e := (<-replies).Err(); e == nil || e.Code != code {
				t.Errorf("reply to %s: %v", question, e)
			}
			send(answerText(m.ID))
		})
		p := peerOf(func(context.Context, *mcp.Message) (*mcp.Message, error) { return nil, errors.New("gone") })
		if _, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), p); err != nil {
			t.Error(err)
		}
	}
}

// case-065: a reply that can't be delivered fails the call at once; it must not look as if the call hadn't been sent.
func TestStreamReplyLost(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if readMessage(r).IsAnswer() {
			panic(nethttp.ErrAbortHandler)
		}
		startEvents(w)(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		<-r.Context().Done()
	})
	_, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
	if err == nil || errors.Is(err, transport.ErrNotSent) || errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "couldn't be delivered") {
		t.Error(err)
	}
}

func TestStreamCut(t *testing.T) {
	for name, h := range map[string]nethttp.HandlerFunc{
		"ended": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			startEvents(w)(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		},
		"ended in the answer": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			startEvents(w)
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":7,"res`)
		},
		"broken off": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			startEvents(w)(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
			panic(nethttp.ErrAbortHandler)
		},
		"JSON broken off": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Length", "1000")
			writeJSON(w, 200, `{"jsonrpc":"2.0","id":7,`)
			_ = nethttp.NewResponseController(w).Flush()
			panic(nethttp.ErrAbortHandler)
		},
	} {
		s := serve(t, h)
		_, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
		if !errors.Is(err, ErrCut) || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that never ends its streams delays nobody for long, and Close lets go of them.
func TestStreamLeftOpen(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		startEvents(w)(answerText(m.ID))
		<-r.Context().Done()
	})
	c := connect(t, Options{URL: s.URL})
	ctx := within(t, 5*time.Second)
	for i := range int64(3 * maxLinger) {
		if _, err := c.Handle(ctx, call(i), mcp.Nobody); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.lingering.Load(); n > maxLinger {
		t.Errorf("%d streams are left open", n)
	}
	_ = c.Close()
	if n := c.lingering.Load(); n != 0 {
		t.Errorf("%d streams outlived Close", n)
	}
}

// A stream that ends after the call has returned, and its context with it, still gives its TCP connection back.
func TestStreamEndedLate(t *testing.T) {
	end := make(chan struct{}, 1)
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		startEvents(w)(answerText(m.ID))
		select {
		case <-end:
		case <-r.Context().Done():
			t.Error("the stream was closed before its end")
		}
	})
	c := connect(t, Options{URL: s.URL})
	var reused atomic.Bool
	ctx := httptrace.WithClientTrace(within(t, 10*time.Second), &httptrace.ClientTrace{
		GotConn: func(g httptrace.GotConnInfo) { reused.Store(g.Reused) },
	})
	for i := range int64(2) {
		one, cancel := context.WithCancel(ctx)
		if _, err := c.Handle(one, call(i), mcp.Nobody); err != nil {
			t.Fatal(err)
		}
		cancel()
		end <- struct{}{}
		for c.lingering.Load() > 0 {
			runtime.Gosched()
		}
	}
	if !reused.Load() {
		t.Error("the second call made a TCP connection of its own")
	}
}
