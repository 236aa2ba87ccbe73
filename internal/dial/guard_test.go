package dial

import (
	"errors"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// The classes of the SSRF table, with those that netip's predicates miss. O2
func TestGuard(t *testing.T) {
	const public, private, never = 0, 1, 2
	for want, addrs := range map[int]string{
		public: "1.1.1.1 8.8.8.8 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:1.1.1.1 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 198.17.0.1 2a00::1",
		private: "0.0.0.0 0.1.2.3 :: 127.0.0.1 127.8.8.8 ::1 ::ffff:127.0.0.1 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 ::ffff:10.0.0.1 fc00::1 fd12::1 fec0::1 " +
			"100.64.0.1 100.127.255.255 224.0.0.1 239.1.1.1 ff02::1 240.0.0.1 255.255.255.255 192.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 198.19.0.1 2001:db8::1 100::1 100:0:0:1::1 2001:2::1 2001:10::1 " +
			"::8.8.8.8 ::10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b:1::8.8.8.8 2002:0808:0808::1 2002:0a00:0001::1 2001::1 2001:0:7f00:1::",
		never: "169.254.169.254 169.254.0.1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe fe80::1 fe80::1%eth0 febf::1 100.100.100.200 168.63.129.16 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 192.0.0.192 " +
			"64:ff9b::169.254.169.254 ::169.254.169.254 ::ffff:0:169.254.169.254 2002:a9fe:a9fe:: 64:ff9b:1::169.254.169.254 64:ff9b::100.100.100.200",
	} {
		for s := range strings.FieldsSeq(addrs) {
			a := netip.MustParseAddr(s)
			if err := Configured.check(a, nil); (err != nil) != (want == never) {
				t.Errorf("configured %s: %v", s, err)
			}
			if err := Named.check(a, nil); (err != nil) != (want != public) {
				t.Errorf("named %s: %v", s, err)
			}
			all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
			if err := Named.check(a, all); (err != nil) != (want == never) {
				t.Errorf("vouched for %s: %v", s, err)
			}
		}
	}
}

// counted is a server that says how often it was reached.
func counted(t *testing.T, h nethttp.HandlerFunc) (*httptest.Server, func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if _, ok := errors.AsType[*RefusedError](err); !ok {
		t.Errorf("%s: %v", what, err)
	}
}

func TestNamedIsRefusedWhenDialled(t *testing.T) { // O2
	s, hits := counted(t, nil)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, Options{Guard: Named})
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.1", "2130706433", "0x7f000001"} {
		_, err := get(t, c, "http://"+host+":"+port+"/")
		if err == nil {
			t.Errorf("%s was reached", host)
		}
		if !endsInNumber(host) || strings.Count(host, ".") == 3 {
			refused(t, host, err)
		}
	}
	if n := hits(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	if _, err := get(t, newClient(t, Options{}), s.URL); err != nil {
		t.Errorf("a configured host may be private: %v", err)
	}
	for _, host := range []string{"169.254.169.254", "[fe80::1%25lo]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"} {
		_, err := get(t, newClient(t, Options{}), "http://"+host+"/")
		refused(t, host, err)
	}
	tr := Transport()
	defer tr.CloseIdleConnections()
	_, err := get(t, &nethttp.Client{Transport: tr}, "http://169.254.169.254/")
	refused(t, "Transport", err)
}

// O3: the check is on the address that is dialled, so a name that changes its mind gains nothing.
func TestRebinding(t *testing.T) {
	s, hits := counted(t, nil) // listens on 127.0.0.1, which plays the private one
	port := s.Listener.Addr().(*net.TCPAddr).Port
	public, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: port}) // vouched for
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
	front.Listener.Close()
	front.Listener = public
	front.Start()
	t.Cleanup(front.Close)

	names := startDNS(t)
	c := newClient(t, Options{Guard: Named, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: names.resolver()})
	address := (&url.URL{Scheme: "http", Host: net.JoinHostPort("flip.example", public.Addr().String()[len("127.0.0.2:"):]), Path: "/"}).String()
	names.set("flip.example", "127.0.0.2")
	if _, err := get(t, c, address); err != nil {
		t.Fatalf("public at first: %v", err)
	}
	names.set("flip.example", "127.0.0.1")
	_, err = get(t, c, address)
	refused(t, "private then", err)
	names.set("flip.example", "169.254.169.254")
	_, err = get(t, newClient(t, Options{Resolver: names.resolver()}), address)
	refused(t, "a configured name that becomes link-local", err)
	if n := hits(); n != 0 {
		t.Errorf("the private server was reached %d times", n)
	}
	if names.asked() == 0 {
		t.Error("the name server was never asked")
	}
}

func TestNamedRedirectIsCheckedAtEachHop(t *testing.T) { // O2
	inside, hits := counted(t, nil)
	port := inside.Listener.Addr().(*net.TCPAddr).Port
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	front := &httptest.Server{Listener: l, Config: &nethttp.Server{Handler: nethttp.RedirectHandler(inside.URL+"/latest", nethttp.StatusFound)}}
	front.Start()
	t.Cleanup(front.Close)
	c := newClient(t, Options{Guard: Named, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	_, err = get(t, c, front.URL)
	refused(t, "redirected inside", err)
	if n := hits(); n != 0 || port == 0 {
		t.Errorf("reached %d times", n)
	}
}
