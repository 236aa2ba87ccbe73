package http

import (
	"context"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// eventServer makes a server of h that answers each request with a stream.
func eventServer(h mcp.Handler) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		m := readMessage(r)
		if m.ID == "" {
			_, _ = h.Handle(r.Context(), m, mcp.Nobody)
			w.WriteHeader(nethttp.StatusAccepted)
			return
		}
		p := &streamPeer{send: startEvents(w)}
		answer, err := h.Handle(r.Context(), m, p)
		if err != nil {
			answer = mcp.ErrorAnswer(m.ID, mcp.CodeInternal, err.Error(), nil)
		}
		p.Notify(r.Context(), answer)
	}
}

type streamPeer struct {
	mu   sync.Mutex
	send func(string)
}

func (p *streamPeer) Notify(_ context.Context, m *mcp.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(string(m.AppendTo(nil)))
}

func (p *streamPeer) Request(ctx context.Context, m *mcp.Message) (*mcp.Message, error) {
	return mcp.Nobody.Request(ctx, m)
}

func TestSuite(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			return newTransport(t, Options{URL: serve(t, eventServer(h)).URL})
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
			s, client := serveHTTP2(t, eventServer(h))
			return warmed{newTransport(t, Options{URL: s.URL, Client: client})}
		})
	})
}

func TestBrokenSuite(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) {
		transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
			p := transporttest.NewProxy(t, "tcp", serve(t, eventServer(h)).Listener.Addr().String(), nil)
			return newTransport(t, Options{URL: "http://" + p.Addr}), p
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		transporttest.RunBroken(t, func(t *testing.T, h mcp.Handler) (transport.Transport, *transporttest.Proxy) {
			s, client := serveHTTP2(t, eventServer(h))
			p := transporttest.NewProxy(t, "tcp", s.Listener.Addr().String(), nil)
			return newTransport(t, Options{URL: "https://" + p.Addr, Client: client}), p
		})
	})
}

// warmed makes one call before it hands a connection out, as every client's handshake does. net/http makes a TLS
// connection for each of the calls that find none, however many, even if all of them then share one.
type warmed struct{ transport.Transport }

func (w warmed) Connect(ctx context.Context) (transport.Conn, error) {
	c, err := w.Transport.Connect(ctx)
	if err == nil {
		_, err = c.(mcp.Handler).Handle(ctx, mcp.Request("0", "echo", nil), mcp.Nobody)
	}
	return c, err
}

func newTransport(t *testing.T, o Options) transport.Transport {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func serveHTTP2(t *testing.T, h nethttp.HandlerFunc) (*httptest.Server, *nethttp.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	tr := dial.Transport()
	tr.TLSClientConfig = s.Client().Transport.(*nethttp.Transport).TLSClientConfig.Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return s, &nethttp.Client{Transport: tr}
}
