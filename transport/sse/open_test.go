package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/usher-mcp/usher/transport"
)

func TestResolve(t *testing.T) { // B3: the same origin only
	base, err := url.Parse("https://a.example/mcp/sse?key=1")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"/messages?id=1":                 "https://a.example/messages?id=1",
		"messages":                       "https://a.example/mcp/messages",
		"../messages":                    "https://a.example/messages",
		"?id=1":                          "https://a.example/mcp/sse?id=1",
		"https://a.example/m#top":        "https://a.example/m",
		"https://A.Example:443/m":        "https://A.Example:443/m",
		"//a.example/m":                  "https://a.example/m",
		"http://a.example/m":             "",
		"https://a.example:8443/m":       "",
		"https://b.example/m":            "",
		"//b.example/m":                  "",
		"https://a.example.b.example/":   "",
		"https://user:pw@a.example/m":    "",
		"https://b.example@a.example/m":  "",
		"https://a.example@b.example/m":  "",
		"javascript:alert(1)":            "",
		"file:///etc/passwd":             "",
		"https:/m":                       "",
		"/m?s3cret=\x00":                 "",
		"https://a.example:99999999/%zz": "",
	} {
		got, err := resolve(base, in)
		switch {
		case want == "" && (err == nil || strings.Contains(err.Error(), "pw") || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%q: %v, %v", in, got, err)
		case want != "" && (err != nil || got.String() != want):
			t.Errorf("%q: %v, %v; want %s", in, got, err, want)
		}
	}
}

func TestConnectRefused(t *testing.T) {
	for name, x := range map[string]struct {
		answer nethttp.HandlerFunc
		status int
		words  string
	}{
		"404": {func(w nethttp.ResponseWriter, _ *nethttp.Request) { nethttp.Error(w, "no such page", 404) }, 404, "404"},
		"405": {func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(405) }, 405, "405"},
		"204": {func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(204) }, 204, "204"},
		"page": {func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "no such page")
		}, 200, `"text/html" instead of an event stream`},
		"stream with an error": {func(w nethttp.ResponseWriter, r *nethttp.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(500)
			_ = nethttp.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 500, "500"},
		"no endpoint": {(&scripted{say: func(w io.Writer, _ *nethttp.Request) {
			_, _ = io.WriteString(w, "data: x\n\nevent: endpoint\n\n")
		}}).ServeHTTP, 0, "ended before"},
		"long endpoint": {(&scripted{say: says("event: endpoint\ndata: /" + strings.Repeat("x", maxEndpoint) + "\n\n")}).ServeHTTP,
			0, "8 KiB"},
		"other origin": {(&scripted{say: says("event: endpoint\ndata: http://b.example/?s3cret\n\n")}).ServeHTTP,
			0, `"http://b.example:80" instead of "http://127.0.0.1:`},
	} {
		s := serve(t, x.answer)
		_, err := newTransport(t, Options{URL: s.URL + "/?s3cret"}).Connect(bounded(t))
		if err == nil || !strings.Contains(err.Error(), x.words) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
		e, ok := errors.AsType[*transport.StatusError](err)
		if ok != (x.status != 0) || ok && (e.Status != x.status || x.status == 404 && string(e.Body) != "no such page\n") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// trip is a RoundTripper that answers as the function says.
type trip func(*nethttp.Request) (*nethttp.Response, error)

func (f trip) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) { return f(r) }

// silent is a server that opens the stream and says nothing.
func silent(r *nethttp.Request) (*nethttp.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	return &nethttp.Response{StatusCode: 200, Header: nethttp.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
}

func TestConnectIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, Options{URL: "http://a.example", Client: &nethttp.Client{Transport: trip(silent)}})
		start := time.Now()
		if _, err := tr.Connect(t.Context()); err != errNoEndpoint || time.Since(start) != openTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		start = time.Now()
		if _, err := tr.Connect(ctx); !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if _, err := tr.Connect(ctx); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for in, words := range map[string]string{
		"ftp://a.example/": "begin with", "/sse": "begin with", "http:///sse": "no host", "http://u:s3cret@a.example/": "user",
		"http://a.example/%zz?s3cret": "can't be read",
	} {
		if _, err := New(Options{URL: in}); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", in, err)
		}
	}
	for name, value := range map[string]string{"X Y": "", "": "", "X-Key": "s3cret\r\nX: y", "Idempotency-Key": "s3cret"} {
		_, err := New(Options{URL: "http://a.example", Header: nethttp.Header{name: {value}}})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the header %q: %v", name, err)
		}
	}
}

// B7: what is configured goes with every request; what the protocol defines stays.
func TestHeaders(t *testing.T) {
	got := make(chan *nethttp.Request, 2)
	script := &scripted{say: says(endpointEvent), status: 202}
	s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		got <- r.Clone(context.Background())
		script.ServeHTTP(w, r)
	}))
	tr := newTransport(t, Options{URL: s.URL + "/sse?key=1#x", Header: nethttp.Header{
		"authorization": {"Bearer x"}, "Accept": {"text/html"}, "Content-Type": {"text/html"}, "Host": {"a.example"},
		"X-Two": {"1", "2"},
	}})
	c, err := tr.Connect(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Send(bounded(t), request(1, "echo", 1)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"GET /sse?key=1 a.example Bearer x [text/event-stream] [] [1 2]",
		"POST /messages?sessionId=s3cret a.example Bearer x [] [application/json] [1 2]",
	} {
		r := <-got
		if got := fmt.Sprint(r.Method, " ", r.URL, " ", r.Host, " ", r.Header.Get("Authorization"), " ",
			r.Header["Accept"], " ", r.Header["Content-Type"], " ", r.Header["X-Two"]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRedirects(t *testing.T) { // O2: no header goes to another origin
	other := serve(t, nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { t.Error("the other host was reached") }))
	script := &scripted{say: says(endpointEvent), status: 202}
	for to, good := range map[string]bool{"/moved": true, other.URL + "/?s3cret": false, "ftp://a.example/?s3cret": false} {
		for _, moved := range []string{nethttp.MethodGet, nethttp.MethodPost} {
			s := serve(t, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if r.Method == moved && r.URL.Path != "/moved" {
					nethttp.Redirect(w, r, to, nethttp.StatusTemporaryRedirect)
					return
				}
				script.ServeHTTP(w, r)
			}))
			c, err := newTransport(t, Options{URL: s.URL}).Connect(bounded(t))
			if err == nil {
				err = c.Send(bounded(t), request(1, "echo", 1))
				_ = c.Close()
			}
			if (err == nil) != good || err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s to %s: %v", moved, to, err)
			}
			if e, ok := errors.AsType[*transport.StatusError](err); !good && (!ok || e.Status != 307) {
				t.Errorf("%s to %s: %v", moved, to, err)
			}
		}
	}
}

func TestRedirectToAnotherScheme(t *testing.T) {
	for from, to := range map[string]string{"https://a.example/": "http://a.example/", "http://a.example/": "https://a.example/"} {
		first, _ := nethttp.NewRequest(nethttp.MethodGet, from, nil)
		next, _ := nethttp.NewRequest(nethttp.MethodGet, to, nil)
		next.Response = &nethttp.Response{StatusCode: 301}
		if err := checkRedirect(next, []*nethttp.Request{first}); err == nil {
			t.Errorf("%s to %s was followed", from, to)
		}
	}
}
