package ws

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/usher-mcp/usher/internal/duplex"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// frame writes one frame as RFC 6455, section 5.2, has it. A client's are masked, here with zeros.
func frame(first byte, masked bool, payload string) string {
	mask := byte(0)
	if masked {
		mask = 0x80
	}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, mask|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, mask|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(n))
	}
	if masked {
		b = append(b, 0, 0, 0, 0)
	}
	return string(b) + payload
}

const (
	text, binaryFrame, more = 0x81, 0x82, 0x80
	closing, ping, pong     = 0x88, 0x89, 0x8a
)

func seeds(f *testing.F, masked bool) {
	for _, s := range []string{
		"",
		frame(text, masked, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`),
		frame(text, masked, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`),
		frame(text, masked, `[{"jsonrpc":"2.0","id":1,"method":"echo"},5]`),
		frame(0x01, masked, `{"jsonrpc":"2.0",`) + frame(ping, masked, "x") + frame(more, masked, `"method":"n"}`),
		frame(text, masked, "hello") + frame(text, masked, "") + frame(closing, masked, "\x03\xe8bye"),
		frame(closing, masked, ""), frame(closing, masked, "\x03"), frame(closing, masked, "\x03\xed"), frame(closing, masked, "\xff\xff\xff"),
		frame(binaryFrame, masked, "x"), frame(pong, masked, "1"), frame(more, masked, "x"), frame(0x8b, masked, ""), frame(0xf1, masked, ""),
		frame(ping, masked, strings.Repeat("x", 126)), frame(0x09, masked, "x"),
		frame(text, masked, `{"jsonrpc":"2.0","id":1,"method":"echo","params":"`+strings.Repeat("x", 70_000)+`"}`),
		"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00{", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "\x81\xfe\x00",
		frame(text, !masked, `{"jsonrpc":"2.0","id":1,"method":"echo"}`),
	} {
		f.Add([]byte(s))
	}
}

// FuzzServer throws bytes at a Server behind an upgrade.
func FuzzServer(f *testing.F) {
	seeds(f, true)
	s := NewServer(ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return transporttest.Echo(), nil }})
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		mine, theirs := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			r, _ := nethttp.NewRequest("GET", "http://localhost/", nil)
			r.Header = nethttp.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
				"Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}
			s.ServeHTTP(&pipeWriter{conn: theirs, header: nethttp.Header{}}, r)
		}()
		throw(t, mine, b)
		<-served
	})
}

// throw writes b, ignores what comes back, and hangs up.
func throw(t *testing.T, c net.Conn, b []byte) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_, _ = io.Copy(io.Discard, c)
	}()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write(b)
	_ = c.Close()
	<-heard
}

// pipeWriter is a ResponseWriter whose connection is a pipe.
type pipeWriter struct {
	conn   net.Conn
	header nethttp.Header
}

func (w *pipeWriter) Header() nethttp.Header      { return w.header }
func (w *pipeWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *pipeWriter) WriteHeader(int)             {}
func (w *pipeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.conn, bufio.NewReadWriter(bufio.NewReader(w.conn), bufio.NewWriter(w.conn)), nil
}

// FuzzClient throws bytes at the client end behind an upgrade. Whatever they are, the connection ends, each message that
// comes out is one, and the end stays what it was.
func FuzzClient(f *testing.F) {
	seeds(f, false)
	f.Fuzz(func(t *testing.T, b []byte) {
		mine, theirs := net.Pipe()
		go throw(t, theirs, b)
		c := clientOver(t, mine)
		defer c.Close()
		for {
			m, err := c.Receive(within(t, 20*time.Second))
			if err == nil {
				if _, err := mcp.Parse(m.AppendTo(nil)); err != nil {
					t.Fatalf("%+v came out: %v", m, err)
				}
				continue
			}
			if _, ok := errors.AsType[*transport.Broken](err); ok {
				continue
			}
			if _, again := c.Receive(t.Context()); again != err {
				t.Fatalf("the end was %v, then %v", err, again)
			}
			return
		}
	})
}

// clientOver is what Connect makes once a server has answered.
func clientOver(t *testing.T, side net.Conn) *conn {
	t.Helper()
	w := new(wire)
	c, _, err := websocket.Dial(t.Context(), "http://localhost/", &websocket.DialOptions{
		HTTPClient: &nethttp.Client{Transport: tap{upgraded{side}, w}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newConn(c, w, Timing{})
}

// upgraded answers every request with 101 and a connection.
type upgraded struct{ rwc io.ReadWriteCloser }

func (u upgraded) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	return &nethttp.Response{StatusCode: 101, Request: r, Body: u.rwc, Header: nethttp.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Accept": {acceptKey(r.Header.Get("Sec-WebSocket-Key"))},
	}}, nil
}

// acceptKey is RFC 6455, section 4.2.2.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// What is scanned out of a message that isn't kept agrees with what reading it whole would say.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"result":{"id":99},"jsonrpc":"2.0","id":7}`), 3)
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a\"b\\","id":"x","params":{"t":"\\\"}"}}`), 1)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}{}`), 9)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		m, err := mcp.Parse(b)
		if err != nil || size <= 0 || bytes.IndexByte(b, '\n') >= 0 {
			return
		}
		scan := new(duplex.Scanner)
		for rest := b; len(rest) > 0; {
			n := min(size, len(rest))
			scan.Write(rest[:n])
			rest = rest[n:]
		}
		got := scan.Message()
		if m.ID == "" && m.Method == "" {
			return
		}
		if got == nil || got.ID != m.ID || got.Method != m.Method {
			t.Errorf("%q: got %+v, want id %s, method %s", b, got, m.ID, m.Method)
		}
	})
}
