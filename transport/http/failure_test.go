package http

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// unused returns an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestNotSent(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]struct {
		ctx context.Context
		url string
		m   *mcp.Message
	}{
		"refused":      {t.Context(), "http://" + unused(t) + "/mcp?key=s3cret", call(1)},
		"no TLS there": {t.Context(), strings.Replace(serve(t, nethttp.NotFound).URL, "http:", "https:", 1), call(1)},
		"given up":     {cancelled, "http://" + unused(t), call(1)},
		"bad mirror":   {t.Context(), "http://" + unused(t), &mcp.Message{ID: "1", Method: "x", Mirror: &mcp.Mirror{Method: "a\nb"}}},
		"bad param": {t.Context(), "http://" + unused(t), &mcp.Message{ID: "1", Method: "x",
			Mirror: &mcp.Mirror{Params: []mcp.Param{{Name: "a b", Value: "c"}}}}},
	} {
		_, err := connect(t, Options{URL: x.url}).Handle(x.ctx, x.m, mcp.Nobody)
		if !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells a key: %v", name, err)
		}
	}
	err := connect(t, Options{URL: "http://" + unused(t)}).Send(t.Context(), mcp.Notification("x", nil))
	if !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send: %v", err)
	}
	if err := connect(t, Options{URL: "http://" + unused(t)}).Send(t.Context(), call(1)); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("Send of a request: %v", err)
	}
}

// A dial that is given up has sent nothing; the error says both.
func TestNotSentWhileDialling(t *testing.T) {
	tr := dial.Transport()
	defer tr.CloseIdleConnections()
	dialling := make(chan struct{})
	tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c := connect(t, Options{URL: "http://server.invalid", Client: &nethttp.Client{Transport: tr}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-dialling; cancel() }()
	_, err := c.Handle(ctx, call(1), mcp.Nobody)
	if !errors.Is(err, transport.ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A RoundTripper that keeps no trace proves nothing.
func TestUnknownRoundTripper(t *testing.T) {
	c := connect(t, Options{URL: "http://server.invalid", Client: &nethttp.Client{Transport: failing{}}})
	if _, err := c.Handle(t.Context(), call(1), mcp.Nobody); err == nil || errors.Is(err, transport.ErrNotSent) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) RoundTrip(*nethttp.Request) (*nethttp.Response, error) {
	return nil, errors.New("it broke")
}

// C4: what may have run is neither called unsent nor sent again, over HTTP/1.1 and 2, also on a kept connection.
func TestSentAndBroken(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		reads := make(chan mcp.ID, 10)
		s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			m := readMessage(r)
			if m.ID == "1" {
				writeAnswer(w, m)
				return
			}
			reads <- m.ID
			panic(nethttp.ErrAbortHandler)
		}))
		s.EnableHTTP2 = h2
		s.StartTLS()
		t.Cleanup(s.Close)
		tr := dial.Transport()
		tr.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*nethttp.Transport).TLSClientConfig.RootCAs}
		t.Cleanup(tr.CloseIdleConnections)
		c := connect(t, Options{URL: s.URL, Client: &nethttp.Client{Transport: tr}})
		ctx := within(t, 10*time.Second)
		if _, err := c.Handle(ctx, call(1), mcp.Nobody); err != nil {
			t.Fatal(err)
		}
		_, err := c.Handle(ctx, call(2), mcp.Nobody)
		if err == nil || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("HTTP/2 %v: %v", h2, err)
		}
		if n := len(reads); n != 1 {
			t.Errorf("HTTP/2 %v: the server read it %d times", h2, n)
		}
	}
}

func TestStatus(t *testing.T) {
	rpc := `{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`
	for name, x := range map[string]struct {
		status     int
		kind, body string
		answered   bool
	}{
		"html 500":            {500, "text/html", "<h1>Oops</h1>", false},
		"405":                 {405, "text/plain", "", false},
		"401":                 {401, "application/json", `{"error":"invalid_token"}`, false},
		"403":                 {403, "", "", false},
		"error with our id":   {400, "application/json", rpc, true},
		"error as plain text": {400, "text/plain", rpc, true},
		"error with null":     {400, "application/json", strings.Replace(rpc, "7", "null", 1), true},
		"another's error":     {400, "application/json", strings.Replace(rpc, "7", "8", 1), false},
		"a result":            {500, "application/json", `{"jsonrpc":"2.0","id":7,"result":{}}`, false},
		"202 to a request":    {202, "", "", false},
		"html 200":            {200, "text/html", "<h1>Sign in</h1>", false},
	} {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", x.kind)
			w.WriteHeader(x.status)
			_, _ = w.Write([]byte(x.body))
		})
		m, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(7), mcp.Nobody)
		e, ok := errors.AsType[*transport.StatusError](err)
		if !ok || e.Status != x.status || string(e.Body) != x.body {
			t.Errorf("%s: %v", name, err)
		}
		if (m != nil) != x.answered {
			t.Errorf("%s: answer = %+v", name, m)
		} else if m != nil && (m.ID != "7" || m.Err().Code != mcp.CodeUnsupportedVersion) {
			t.Errorf("%s: answer = %+v", name, m)
		}
	}
}

func TestStatusBodyIsBounded(t *testing.T) {
	for _, kind := range []string{"text/html", "application/json"} {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(502)
			endless(w, []byte(strings.Repeat("x", 64<<10)))
		})
		_, err := connect(t, Options{URL: s.URL}).Handle(within(t, 10*time.Second), call(7), mcp.Nobody)
		if e, ok := errors.AsType[*transport.StatusError](err); !ok || len(e.Body) != maxStatusBody {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestSend(t *testing.T) {
	for status, good := range map[int]bool{200: true, 202: true, 204: true, 400: false, 500: false} {
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) { w.WriteHeader(status) })
		err := connect(t, Options{URL: s.URL}).Send(within(t, 5*time.Second), mcp.Notification(mcp.NotifyInitialized, nil))
		if e, ok := errors.AsType[*transport.StatusError](err); (err == nil) != good || !good && (!ok || e.Status != status) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
