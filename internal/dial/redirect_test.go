package dial

import (
	"errors"
	"net"
	nethttp "net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hop(t *testing.T, method, url string) *nethttp.Request {
	t.Helper()
	r, err := nethttp.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = nethttp.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer x"}, "Referer": {"https://a.example/?key=k"}, "Accept": {"*/*"}}
	return r
}

func TestSameHost(t *testing.T) { // O2, B7
	for _, tt := range []struct {
		from, to string
		why      string // "" is followed
	}{
		{"https://a.example/mcp", "https://a.example/mcp/", ""},
		{"https://a.example/mcp", "https://A.Example.:443/x", ""},
		{"http://a.example/mcp", "https://a.example/mcp", ""},
		{"https://a.example/mcp", "http://a.example/mcp", "without TLS"},
		{"https://a.example/mcp", "https://a.example:8443/mcp", "another host"},
		{"https://a.example/mcp", "https://b.a.example/mcp", "another host"},
		{"https://a.example/mcp", "https://evil.example/a.example", "another host"},
		{"https://a.example/mcp", "https://u:p@a.example/mcp", "user or password"},
	} {
		next := hop(t, "POST", tt.to)
		err := SameHost(next, []*nethttp.Request{hop(t, "POST", tt.from)})
		if tt.why == "" && (err != nil || next.Header.Get("X-Api-Key") == "" || next.Header.Get("Referer") != "") {
			t.Errorf("%s -> %s: %v %v", tt.from, tt.to, err, next.Header)
		}
		if e, ok := errors.AsType[*RedirectError](err); tt.why != "" && (!ok || !strings.Contains(e.Why, tt.why)) {
			t.Errorf("%s -> %s: %v", tt.from, tt.to, err)
		}
	}
	if err := SameHost(hop(t, "GET", "https://a.example/"), []*nethttp.Request{hop(t, "POST", "https://a.example/")}); err == nil {
		t.Error("a message was lost")
	}
	four := []*nethttp.Request{hop(t, "GET", "https://a.example/"), nil, nil, hop(t, "GET", "https://a.example/")}
	if err := SameHost(hop(t, "GET", "https://a.example/"), four); err == nil {
		t.Error("a fourth redirect was followed")
	}
}

// No header follows to another host, over real sockets: net/http itself drops only the ones it knows.
func TestHeadersStay(t *testing.T) { // B7
	heard := make(chan nethttp.Header, 1)
	other, hits := counted(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { heard <- r.Header })
	from, _ := counted(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, other.URL+"/?key=s3cret", nethttp.StatusFound)
	})
	send := func(c *nethttp.Client) error {
		req := hop(t, "GET", from.URL+"/?key=s3cret")
		req.Header.Del("Referer")
		res, err := c.Do(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	err := send(newClient(t, Options{}))
	if e, ok := errors.AsType[*RedirectError](err); !ok || e.Status != 302 || strings.Contains(e.Error(), "s3cret") || hits() != 0 {
		t.Errorf("configured: %v, reached %d times", err, hits())
	}
	c := newClient(t, Options{})
	c.CheckRedirect = Bare
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	want := nethttp.Header{"Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"Go-http-client/1.1"}}
	if diff := cmp.Diff(want, <-heard); diff != "" {
		t.Errorf("the other host got (-want +got):\n%s", diff)
	}
	if err := Bare(hop(t, "POST", other.URL), []*nethttp.Request{hop(t, "POST", from.URL)}); err == nil {
		t.Error("a body followed to another host")
	}
}

func TestSocket(t *testing.T) { // B7
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &nethttp.Server{Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { _, _ = w.Write([]byte(r.Host + r.URL.Path)) })}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if got, err := get(t, newClient(t, Options{Socket: path}), "http://server.example/mcp"); err != nil || got != "server.example/mcp" {
		t.Errorf("%q %v", got, err)
	}
	d, err := New(Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Tunnel(t.Context(), "server.example:443")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// What a server calls a host is cut and made printable.
func TestRedirectIsShown(t *testing.T) {
	next := hop(t, "POST", "https://b.example/")
	next.URL.Host = "b\x1b[31m\u202e" + strings.Repeat("x", 1000)
	err := SameHost(next, []*nethttp.Request{hop(t, "POST", "https://a.example/")})
	if e, ok := errors.AsType[*RedirectError](err); !ok || len(e.To) > 220 || !strings.HasPrefix(e.To, "https://b.[31m.xxx") {
		t.Errorf("got %v", err)
	}
}
