package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// What is no message is no message, and what is broken fails what it names.
func TestReceive(t *testing.T) { // B3, A5
	long := strings.Repeat("x", mcp.MaxMessage)
	s := serve(t, &scripted{say: func(w io.Writer, _ *nethttp.Request) {
		for _, event := range []string{
			endpointEvent, ": comment\n\n", "event: ping\ndata: {}\n\n", "data:   \n\n", "event: endpoint\ndata: http://b.example\n\n",
			`data: {"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n",
			"id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"a\"}\n\n",
			`data: {"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}}` + "\n\n",
			`data: {"result":{"text":"` + long + `"},"jsonrpc":"2.0","id":3}` + "\n\n",
			`event: other` + "\n" + `data: ` + long + "xx\n\n",
			"data: hello\n\n",
			`data: [{"jsonrpc":"2.0","id":4,"result":{}},{"jsonrpc":"2.0","method":"b"}]` + "\n\n",
			`data: {"jsonrpc":"2.0","method":"cut off"}`,
		} {
			_, _ = io.WriteString(w, event)
		}
	}})
	c := connect(t, s.URL)
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"a"}`,
		"broken 2 false", "broken 3 true", "broken  false",
		`{"jsonrpc":"2.0","id":4,"result":{}}`, `{"jsonrpc":"2.0","method":"b"}`, "EOF", "EOF",
	} {
		m, err := c.Receive(bounded(t))
		got := fmt.Sprint(err)
		if b, ok := errors.AsType[*transport.Broken](err); ok {
			got = fmt.Sprintf("broken %s %v", b.Message.ID, fault.KindOf(b) == fault.TooLarge)
		} else if err == nil {
			got = string(m.AppendTo(nil))
		}
		if got != want {
			t.Fatalf("got %.100s, want %s", got, want)
		}
	}
	if err := c.Send(bounded(t), request(1, "echo", 1)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send after the end of the stream: %v", err)
	}
}

// O1: a server that dies isn't one that has ended in order.
func TestServerDies(t *testing.T) {
	die := make(chan struct{})
	s := serve(t, &scripted{status: 202, say: func(w io.Writer, _ *nethttp.Request) {
		_, _ = io.WriteString(w, endpointEvent+"data: {\"jsonrpc\":")
		<-die
		panic(nethttp.ErrAbortHandler)
	}})
	c := connect(t, s.URL)
	close(die)
	_, err := c.Receive(bounded(t))
	if err == nil || err == io.EOF || !strings.Contains(err.Error(), "broke off") {
		t.Errorf("Receive returned %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, again := c.Receive(bounded(t)); again != err {
		t.Errorf("then %v", again)
	}
}

func TestSendStatus(t *testing.T) {
	for status, good := range map[int]bool{200: true, 202: true, 204: true, 299: true, 400: false, 404: false, 500: false} {
		s := serve(t, &scripted{say: says(endpointEvent), status: status})
		c := connect(t, s.URL)
		for range 2 { // the connection goes on
			err := c.Send(bounded(t), request(1, "echo", 1))
			e, ok := errors.AsType[*transport.StatusError](err)
			if (err == nil) != good || !good && (!ok || e.Status != status || string(e.Body) != "Accepted") {
				t.Errorf("%d: %v", status, err)
			}
			if errors.Is(err, transport.ErrNotSent) {
				t.Errorf("%d: the server saw it: %v", status, err)
			}
		}
	}
}

// A server that takes messages and answers no post keeps a connection for each only while its Send waits, and a moment.
func TestSendNeverAnswered(t *testing.T) { // A5
	posted, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodGet {
			(&scripted{say: says(endpointEvent)}).ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		posted <- struct{}{}
		<-r.Context().Done()
		close(ended)
	}))
	c := connect(t, s.URL)
	c.rest = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(bounded(t))
	sent := make(chan error, 1)
	go func() { sent <- c.Send(ctx, request(1, "echo", 1)) }()
	<-posted
	cancel()
	if err := <-sent; err != nil {
		t.Errorf("Send: %v", err)
	}
	select {
	case <-ended:
	case <-bounded(t).Done():
		t.Error("the post goes on")
	}
}

// An answer that never ends doesn't hold up, nor does it end with the Send.
func TestSendAnsweredWithoutEnd(t *testing.T) {
	ended := make(chan struct{})
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodGet {
			(&scripted{say: says(endpointEvent)}).ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(202)
		_, _ = io.WriteString(flushed{w}, "Acc")
		<-r.Context().Done()
		close(ended)
	}))
	c := connect(t, s.URL)
	ctx, cancel := context.WithCancel(bounded(t))
	if err := c.Send(ctx, request(1, "echo", 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-ended:
		t.Error("the post ended with the Send")
	default:
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestSendUnreachable(t *testing.T) { // B2: nothing left
	s := serve(t, &scripted{say: says(endpointEvent), status: 202})
	c := connect(t, s.URL)
	_ = s.Listener.Close()
	if err := c.Send(bounded(t), request(1, "echo", 1)); !errors.Is(err, transport.ErrNotSent) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("Send to nobody: %v", err)
	}
	long := mcp.Request("1", "echo", []byte(`"`+strings.Repeat("x", mcp.MaxMessage)+`"`))
	if err := c.Send(bounded(t), long); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send of too much: %v", err)
	}
}

// Half-open: the server takes messages and never says anything again.
func TestHalfOpen(t *testing.T) {
	taken := make(chan struct{}, 1)
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodGet {
			(&scripted{say: says(endpointEvent)}).ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		taken <- struct{}{}
		<-r.Context().Done()
	}))
	c := connect(t, s.URL)
	failed := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { failed <- c.Send(ctx, request(1, "echo", 1)) }()
	<-taken
	cancel()
	if err := <-failed; err != nil {
		t.Errorf("the Send that was given up when the server had it all: %v", err)
	}
	go func() { failed <- c.Send(t.Context(), request(2, "echo", 1)) }()
	<-taken
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, errEnded) || errors.Is(err, transport.ErrNotSent) {
		t.Errorf("the Send during Close: %v", err)
	}
	if _, err := c.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive after Close: %v", err)
	}
}

// Requests beyond the bound wait, and can be given up; what they may wait for never does.
func TestManyPosts(t *testing.T) {
	held := make(chan struct{})
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodGet {
			(&scripted{say: says(endpointEvent)}).ServeHTTP(w, r)
			return
		}
		if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), "hold") {
			held <- struct{}{}
			<-r.Context().Done()
		}
	}))
	c := connect(t, s.URL)
	failed := make(chan error, maxPosts)
	for i := range maxPosts {
		go func() { failed <- c.Send(t.Context(), request(int64(i), "hold", 1)) }()
	}
	for range maxPosts {
		<-held
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() { waiting <- c.Send(ctx, request(999, "hold", 1)) }()
	if err := c.Send(bounded(t), mcp.Notification(mcp.NotifyCancelled, nil)); err != nil {
		t.Errorf("a notification: %v", err)
	}
	cancel()
	if err := <-waiting; !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Errorf("the request beyond the bound: %v", err)
	}
	_ = c.Close()
	for range maxPosts {
		if err := <-failed; err == nil {
			t.Error("a Send that was held succeeded")
		}
	}
}

// Backpressure: what nobody receives stays with the server, and what has left it isn't lost.
func TestBackpressure(t *testing.T) {
	const most, size = 1000, 64 << 10
	written := make(chan int, 1)
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		(&scripted{say: func(out io.Writer, _ *nethttp.Request) {
			_, _ = io.WriteString(out, endpointEvent)
			n := 0
			for err := error(nil); n < most && err == nil; n++ {
				_ = nethttp.NewResponseController(w).SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
				_, err = fmt.Fprintf(out, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"x\":\"%s\"}}\n\n", n, strings.Repeat("x", size))
			}
			written <- n
		}}).ServeHTTP(w, r)
	}))
	c := connect(t, s.URL)
	n := <-written
	if n == most {
		t.Fatal("the server got rid of everything, though nobody received")
	}
	for i := int64(0); ; i++ {
		m, err := c.Receive(bounded(t))
		if err != nil {
			if i == 0 || err == io.EOF {
				t.Errorf("after %d messages of %d: %v", i, n, err)
			}
			return
		}
		if m.ID != mcp.IntID(i) {
			t.Fatalf("got %s, want %d", m.ID, i)
		}
	}
}
