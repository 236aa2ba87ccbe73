package dial

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func fixed(u *url.URL) func(*nethttp.Request) (*url.URL, error) {
	return func(*nethttp.Request) (*url.URL, error) { return u, nil }
}

// proxy is a real one, for CONNECT and for plain requests. Its own way to all names is to one address.
type proxy struct {
	url *url.URL
	to  string // "host:port"

	mu   sync.Mutex
	seen []string
	work sync.WaitGroup
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{to: to}
	s := httptest.NewServer(p)
	t.Cleanup(func() { s.Close(); p.work.Wait() })
	p.url, _ = url.Parse(s.URL)
	return p
}

func (p *proxy) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, what)
}

func (p *proxy) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

func (p *proxy) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	p.note(r.Method + " " + r.Host + strings.TrimSuffix(" "+r.Header.Get("Proxy-Authorization"), " "))
	if r.Method != nethttp.MethodConnect {
		_, _ = io.WriteString(w, "by the proxy")
		return
	}
	if r.Host == "closed.example:443" {
		w.WriteHeader(nethttp.StatusForbidden)
		return
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(nethttp.StatusBadGateway)
		return
	}
	client, buffered, err := nethttp.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	both := func() { _ = client.Close(); _ = server.Close() }
	p.work.Go(func() { defer both(); _, _ = io.Copy(server, buffered) })
	p.work.Go(func() { defer both(); _, _ = io.Copy(client, server) })
}

func TestThroughAProxy(t *testing.T) { // B7
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "server.example")
	p := startProxy(t, s.Listener.Addr().String())
	cert, key := ca.issue(t, "me")
	o := Options{Host: "server.example", Proxy: fixed(p.url), Resolver: startDNS(t).resolver(), TLS: TLS{
		CA: f.write(t, "ca.pem", ca.pem), Cert: f.write(t, "c.pem", cert), Key: f.write(t, "k.pem", key)}}
	c := newClient(t, o)
	// The name can't be looked up here: only the proxy knows it.
	if got, err := get(t, c, "https://server.example/"); err != nil || got != "me" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := get(t, c, "http://server.example/"); err != nil || got != "by the proxy" {
		t.Errorf("%q %v", got, err)
	}
	if diff := cmp.Diff([]string{"CONNECT server.example:443", "GET server.example"}, p.take()); diff != "" {
		t.Errorf("the proxy saw (-want +got):\n%s", diff)
	}
}

// A proxy reaches what we refuse, so a name is looked up before it is handed over. O2
func TestNamesAreCheckedBeforeAProxy(t *testing.T) {
	ca := newAuthority(t, "ca")
	p := startProxy(t, ca.serveTLS(t, "x").Listener.Addr().String())
	names := startDNS(t)
	names.set("inside.example", "10.0.0.1")
	names.set("metadata.example", "169.254.169.254")
	names.set("public.example", "93.184.215.14")
	base := Options{Proxy: fixed(p.url), Resolver: names.resolver()}
	named := base
	named.Guard = Named
	for _, tt := range []struct {
		host              string
		configured, named bool
	}{
		{"public.example", true, true}, {"public.example.", true, true}, {"inside.example", true, false}, {"metadata.example", false, false},
		{"unknown.example", true, false}, {"10.0.0.1", true, false}, {"127.0.0.1", true, false}, {"localhost", true, false},
		{"a.localhost", true, false}, {"169.254.169.254", false, false}, {"[::ffff:169.254.169.254]", false, false}, {"0xa9fea9fe", false, false},
		{"2852039166", false, false}, {"127.1", false, false}, {"0177.0.0.1", false, false},
	} {
		for scheme, o := range map[string]Options{"http": base, "https": base, "http ": named, "https ": named} {
			want := tt.configured
			if o.Guard == Named {
				want = tt.named
			}
			_, err := get(t, newClient(t, o), strings.TrimSpace(scheme)+"://"+tt.host+"/")
			if reached := len(p.take()) > 0; reached != want {
				t.Errorf("%s://%s, guard %d: reached %v: %v", scheme, tt.host, o.Guard, reached, err)
			}
			if !want {
				refused(t, tt.host, err)
			}
		}
	}
}

// Where only the proxy can look names up, a configured server isn't kept waiting for a name server that is silent. B7
func TestSilentNameServer(t *testing.T) {
	hold := make(chan struct{})
	names := startHeldDNS(t, hold)
	defer close(hold) // lest the lookups outlive the test
	p := startProxy(t, "127.0.0.1:1")
	c := newClient(t, Options{Proxy: fixed(p.url), Resolver: names.resolver()})
	for range 3 {
		start := time.Now()
		if got, err := get(t, c, "http://server.example/"); err != nil || got != "by the proxy" || time.Since(start) > 4*time.Second {
			t.Errorf("%q %v after %v", got, err, time.Since(start))
		}
	}
	named := newClient(t, Options{Guard: Named, Proxy: fixed(p.url), Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}}})
	_, err := get(t, named, "http://server.example/")
	refused(t, "what can't be looked up, where metadata names it", err)
}

// The proxy is the user's word and may be private. Its address isn't, where metadata names it.
func TestProxyAddressIsNoWayAround(t *testing.T) { // O2
	p := startProxy(t, "127.0.0.1:1")
	direct := func(r *nethttp.Request) (*url.URL, error) {
		if r.URL.Host == p.url.Host { // as NO_PROXY=localhost,127.0.0.1 has it
			return nil, nil
		}
		return p.url, nil
	}
	c := newClient(t, Options{Guard: Named, Proxy: direct, Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	if got, err := get(t, c, "http://192.0.2.1/"); err != nil || got != "by the proxy" {
		t.Errorf("%q %v", got, err)
	}
	_, err := get(t, c, p.url.String())
	refused(t, "the proxy itself", err)
	if diff := cmp.Diff([]string{"GET 192.0.2.1"}, p.take()); diff != "" {
		t.Errorf("the proxy saw (-want +got):\n%s", diff)
	}
}

func TestTunnel(t *testing.T) { // B7: what isn't HTTP takes the proxy too
	hello, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = hello.Close(); work.Wait() })
	work.Go(func() {
		for c, err := hello.Accept(); err == nil; c, err = hello.Accept() {
			_, _ = io.WriteString(c, "hello\n") // before the client says anything
			_ = c.Close()
		}
	})
	p := startProxy(t, hello.Addr().String())
	withUser := *p.url
	withUser.User = url.UserPassword("u", "p")
	names := startDNS(t)
	names.set("metadata.example", "169.254.169.254")
	for _, tt := range []struct {
		address string
		proxy   *url.URL
		want    string
		seen    []string
	}{
		{"server.example:5000", p.url, "", []string{"CONNECT server.example:5000"}},
		{"server.example:5000", &withUser, "", []string{"CONNECT server.example:5000 Basic dTpw"}},
		{hello.Addr().String(), nil, "", nil},
		{"closed.example:443", p.url, "the proxy refuses to connect: 403 Forbidden", []string{"CONNECT closed.example:443"}},
		{"metadata.example:443", p.url, "the address 169.254.169.254 is refused", nil},
		{"server.example:5000", &url.URL{Scheme: "socks5", Host: "127.0.0.1:1"}, "use an http:// one", nil},
		{"server.example:5000", &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, "the proxy can't be reached", nil},
		{"server.example:5000", &url.URL{Scheme: "http", Host: hello.Addr().String()}, "no answer of the proxy", nil},
	} {
		d, err := New(Options{Proxy: fixed(tt.proxy), Resolver: names.resolver()})
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Tunnel(t.Context(), tt.address)
		if tt.want == "" && err == nil {
			if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
				t.Errorf("%s: read %q: %v", tt.address, line, err)
			}
			_ = c.Close()
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s by %v: %v", tt.address, tt.proxy, err)
		}
		if got := p.take(); !slices.Equal(got, tt.seen) {
			t.Errorf("%s: the proxy saw %q", tt.address, got)
		}
	}
}

func TestTLSConfigOverATunnel(t *testing.T) { // B7: as gRPC uses it
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "server.example")
	p := startProxy(t, s.Listener.Addr().String())
	d, err := New(Options{Host: "server.example", Proxy: fixed(p.url), TLS: TLS{CA: f.write(t, "ca.pem", ca.pem)}, Resolver: startDNS(t).resolver()})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := d.Tunnel(t.Context(), "server.example:443")
	if err != nil {
		t.Fatal(err)
	}
	c := d.TLSConfig()
	c.ServerName = "server.example"
	secure := tls.Client(plain, c)
	defer secure.Close()
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Error(err)
	}
}
