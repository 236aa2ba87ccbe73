package sse

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// late is a ResponseWriter on which a 202 takes a while to leave, if nothing comes of its message meanwhile.
type late struct {
	nethttp.ResponseWriter
	handled   <-chan struct{}
	overtaken *atomic.Bool
}

func (l late) WriteHeader(status int) {
	if status == nethttp.StatusAccepted {
		select {
		case <-l.handled:
			l.overtaken.Store(true)
		case <-time.After(100 * time.Millisecond):
		}
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l late) Unwrap() nethttp.ResponseWriter { return l.ResponseWriter }

// B3: no answer overtakes the 202 of its request, which is complete although the server is still busy.
func TestAcceptedFirst(t *testing.T) {
	handled := make(chan struct{})
	var overtaken atomic.Bool
	s := NewServer(ServerOptions{Handler: mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		close(handled)
		return mcp.Answer(m.ID, nil), nil
	})})
	at := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		s.ServeHTTP(late{w, handled, &overtaken}, r)
	}))
	t.Cleanup(func() { _ = s.Close() })
	o := open(t, at.URL)
	o.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	if got := o.message(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` || overtaken.Load() {
		t.Errorf("got %s; before the 202: %v", got, overtaken.Load())
	}
}

// part posts head of a body of size bytes on a connection of its own.
func (o *opened) part(size int, head string) net.Conn {
	o.t.Helper()
	u, err := url.Parse(o.post)
	if err != nil {
		o.t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		u.RequestURI(), u.Host, size, head)
	if err != nil {
		o.t.Fatal(err)
	}
	return c
}

// answered reads the answer and that the connection ends behind it.
func answered(t *testing.T, c net.Conn, want int) {
	t.Helper()
	in := bufio.NewReader(c)
	res, err := nethttp.ReadResponse(in, nil)
	if err != nil || res.StatusCode != want {
		t.Fatalf("answered with %+v, %v; want %d", res, err, want)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
}

// A body that doesn't come holds nothing up for long, neither in a session nor without one.
func TestBodyThatStalls(t *testing.T) {
	_, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, func(s *Server) { s.stall = 100 * time.Millisecond })
	o := open(t, at.URL)
	answered(t, o.part(100, `{"jsonrpc"`), nethttp.StatusRequestTimeout)
	o.send(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	o.message()
	o.post = at.URL + "?sessionId=x"
	answered(t, o.part(100, `{"jsonrpc"`), nethttp.StatusNotFound)
}

// The end of a session ends its posts.
func TestBodyOfAnEndedSession(t *testing.T) {
	s, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, nil)
	o := open(t, at.URL)
	c := o.part(100, `{"jsonrpc"`)
	s.untilReading(o, func(bytes int64) bool { return bytes > 0 })
	_ = s.Close()
	answered(t, c, nethttp.StatusNotFound)
}

// untilReading waits until the session's posts hold as many bytes as wanted.
func (s *Server) untilReading(o *opened, wanted func(bytes int64) bool) {
	o.t.Helper()
	u, _ := url.Parse(o.post)
	ses := s.find(u.Query().Get(sessionParam))
	for ctx := bounded(o.t); !wanted(ses.reading.Load()); {
		if ctx.Err() != nil {
			o.t.Fatalf("%d bytes are being read", ses.reading.Load())
		}
		runtime.Gosched()
	}
}

// A5: what is posted at once is bounded, however little of it is ever completed, and there is room again afterwards.
func TestPostsAreBounded(t *testing.T) {
	s, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, func(s *Server) { s.stall = time.Minute })
	o := open(t, at.URL)
	head := strings.Repeat(" ", 9<<20) // so that room for all is made
	var held []net.Conn
	for i := range 4 {
		held = append(held, o.part(mcp.MaxMessage, head))
		s.untilReading(o, func(bytes int64) bool { return bytes >= int64(i+1)*mcp.MaxMessage })
	}
	if status, text := send(t, o.post, jsonType, head+`{"jsonrpc":"2.0","id":1,"method":"echo"}`); status != nethttp.StatusServiceUnavailable {
		t.Errorf("one more: %d %s", status, text)
	}
	for _, c := range held {
		_ = c.Close()
	}
	s.untilReading(o, func(bytes int64) bool { return bytes == 0 })
	o.send(head + `{"jsonrpc":"2.0","id":2,"method":"echo"}`)
	if got := o.message(); got != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Error(got)
	}
}

// A5: nor do all clients together post more, and what they have posted is given back.
func TestAllPostsAreBounded(t *testing.T) {
	s, at := serveMCP(t, ServerOptions{Handler: transporttest.Echo()}, nil)
	o := open(t, at.URL)
	const others, message = 1<<30 - 100<<10, `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	s.held.Store(others)
	if status, text := send(t, o.post, jsonType, strings.Repeat(" ", 200<<10)+message); status != nethttp.StatusServiceUnavailable {
		t.Errorf("%d %s", status, text)
	}
	o.send(message)
	o.message()
	if _ = s.Close(); s.held.Load() != others {
		t.Errorf("%d bytes are counted at the end", s.held.Load()-others)
	}
}
