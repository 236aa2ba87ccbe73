package http

import (
	"errors"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

func TestRedirectToAnotherHost(t *testing.T) { // O2: no header goes there
	var reached atomic.Int32
	other := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { reached.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			nethttp.Redirect(w, r, other.URL+"/mcp?key=s3cret", status)
		})
		c := connect(t, Options{URL: s.URL, Header: nethttp.Header{"Authorization": {"Bearer x"}}})
		_, err := c.Handle(within(t, 5*time.Second), call(1), mcp.Nobody)
		if e, ok := errors.AsType[*transport.StatusError](err); !ok || e.Status != status || errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%d: %v", status, err)
		} else if !strings.Contains(err.Error(), "another host") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other host was reached %d times", n)
	}
}

func TestRedirectWithinTheHost(t *testing.T) {
	for status, good := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			switch {
			case r.URL.Path != "/mcp/":
				nethttp.Redirect(w, r, "/mcp/", status)
			case r.Method != "POST" || r.Header.Get("Authorization") != "Bearer x":
				t.Errorf("%d: %s %v", status, r.Method, r.Header)
			default:
				writeAnswer(w, readMessage(r))
			}
		})
		c := connect(t, Options{URL: s.URL + "/mcp", Header: nethttp.Header{"Authorization": {"Bearer x"}}})
		_, err := c.Handle(within(t, 5*time.Second), call(1), mcp.Nobody)
		if (err == nil) != good {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestRedirectLoop(t *testing.T) {
	var hops atomic.Int32
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		hops.Add(1)
		nethttp.Redirect(w, r, "/", nethttp.StatusTemporaryRedirect)
	})
	_, err := connect(t, Options{URL: s.URL}).Handle(within(t, 5*time.Second), call(1), mcp.Nobody)
	if err == nil || hops.Load() != 4 {
		t.Errorf("%d requests: %v", hops.Load(), err)
	}
}

func TestRedirectToPlainHTTP(t *testing.T) {
	request := func(method, url string) *nethttp.Request {
		r, err := nethttp.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for to, good := range map[string]bool{"https://a.example/x": true, "http://a.example/x": false, "https://A.Example/x": true,
		"https://a.example:8443/x": false, "https://b.a.example/x": false} {
		err := checkRedirect(request("POST", to), []*nethttp.Request{request("POST", "https://a.example/mcp")})
		if (err == nil) != good {
			t.Errorf("%s: %v", to, err)
		}
	}
}
