package dial

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// reports collects what Report is told.
type reports struct {
	mu  sync.Mutex
	all []string
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, err.Error())
}

func (r *reports) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

func TestClientCertificateIsReadAnew(t *testing.T) { // B7
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "127.0.0.1")
	var said reports
	set := func(cert, key []byte) { f.write(t, "cert.pem", cert); f.write(t, "key.pem", key) }
	set(ca.issue(t, "first"))
	o := Options{Host: "127.0.0.1", Report: said.add, TLS: TLS{
		CA: f.write(t, "ca.pem", ca.pem), Cert: filepath.Join(f.dir, "cert.pem"), Key: filepath.Join(f.dir, "key.pem"),
	}}
	c := newClient(t, o)
	expect := func(want string, reports int) {
		t.Helper()
		if got, err := get(t, c, s.URL); err != nil || got != want {
			t.Errorf("the server saw %q, want %q: %v", got, want, err)
		}
		if all := said.take(); len(all) != reports {
			t.Errorf("%d reports, want %d: %q", len(all), reports, all)
		}
	}
	expect("first", 0)
	set(ca.issue(t, "second"))
	expect("second", 0)

	cert, key := ca.issue(t, "third")
	f.write(t, "cert.pem", cert) // and the key not yet
	expect("second", 1)
	expect("second", 0) // said once
	f.write(t, "key.pem", key)
	expect("third", 0)

	f.write(t, "cert.pem", []byte("garbage"))
	expect("third", 1)
	if err := os.Remove(o.TLS.Cert); err != nil {
		t.Fatal(err)
	}
	expect("third", 1)
	set(ca.issue(t, "fourth"))
	expect("fourth", 0)
}

func TestAuthorityIsReadAnew(t *testing.T) { // B7
	ca, other, f := newAuthority(t, "ca"), newAuthority(t, "other"), newFolder(t)
	s := ca.serveTLS(t, "127.0.0.1")
	var said reports
	path := f.write(t, "ca.pem", other.pem)
	c := newClient(t, Options{Host: "127.0.0.1", TLS: TLS{CA: path}, Report: said.add})
	var unknown x509.UnknownAuthorityError
	if _, err := get(t, c, s.URL); !errors.As(err, &unknown) {
		t.Errorf("another authority: %v", err)
	}
	f.write(t, "ca.pem", append(bytes.Clone(other.pem), ca.pem...))
	if got, err := get(t, c, s.URL); err != nil || got != "nobody" {
		t.Errorf("%q %v", got, err)
	}
	f.write(t, "ca.pem", nil)
	if _, err := get(t, c, s.URL); err != nil {
		t.Errorf("an empty file isn't a reason to forget the good one: %v", err)
	}
	if all := said.take(); len(all) != 1 || !strings.Contains(all[0], "tls.ca: the file "+path) || !strings.Contains(all[0], "stays in use") {
		t.Errorf("reports %q", all)
	}
	f.write(t, "ca.pem", other.pem)
	if _, err := get(t, c, s.URL); !errors.As(err, &unknown) {
		t.Errorf("an authority that was taken away still counts: %v", err)
	}
}

// The name is checked although the usual check is replaced, also where an IP address is dialled: the handshake has no
// name then.
func TestServerName(t *testing.T) { // B7
	ca, f := newAuthority(t, "ca"), newFolder(t)
	path := f.write(t, "ca.pem", ca.pem)
	byIP, byName := ca.serveTLS(t, "127.0.0.1"), ca.serveTLS(t, "good.example")
	for _, tt := range []struct {
		name, url string
		o         Options
		good      bool
	}{
		{"address", byIP.URL, Options{Host: "127.0.0.1"}, true},
		{"another address", byIP.URL, Options{Host: "127.0.0.2"}, false},
		{"a name where an address is dialled", byName.URL, Options{Host: "127.0.0.1"}, false},
		{"serverName", byName.URL, Options{Host: "127.0.0.1", TLS: TLS{ServerName: "good.example"}}, true},
		{"wrong serverName", byIP.URL, Options{Host: "127.0.0.1", TLS: TLS{ServerName: "good.example"}}, false},
	} {
		tt.o.TLS.CA = path
		_, err := get(t, newClient(t, tt.o), tt.url)
		if _, named := errors.AsType[x509.HostnameError](err); (err == nil) != tt.good || !tt.good && !named {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := get(t, newClient(t, Options{}), byIP.URL); err == nil {
		t.Error("without tls.ca, a private authority counted")
	}
}

func TestOldTLS(t *testing.T) { // B7
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "127.0.0.1")
	s.TLS.MinVersion, s.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	c := newClient(t, Options{Host: "127.0.0.1", TLS: TLS{CA: f.write(t, "ca.pem", ca.pem)}})
	if _, err := get(t, c, s.URL); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("TLS 1.1: %v", err)
	}
}

func TestFilesInErrors(t *testing.T) { // B7, G4: file and field, never content
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "127.0.0.1")
	cert, key := ca.issue(t, "client")
	_, otherKey := ca.issue(t, "other")
	const canary = "CANARY7f3a"
	locked := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte(canary)})
	broken := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(canary)})
	at := func(name string, content []byte) string { return f.write(t, name, content) }
	good := TLS{CA: at("ca.pem", ca.pem), Cert: at("c.pem", cert), Key: at("k.pem", key)}
	with := func(change func(*TLS)) TLS { o := good; change(&o); return o }
	for want, o := range map[string]TLS{
		"tls.ca: can't read " + f.dir + "/none: no such file":       with(func(o *TLS) { o.CA = f.dir + "/none" }),
		"tls.ca: the file " + f.dir + " isn't a regular file":       with(func(o *TLS) { o.CA = f.dir }),
		"tls.ca: the file " + f.dir + "/x.pem holds no certificate": with(func(o *TLS) { o.CA = at("x.pem", []byte(canary)) }),
		"tls.ca: the file " + f.dir + "/l.pem is larger":            with(func(o *TLS) { o.CA = at("l.pem", make([]byte, maxFile+1)) }),
		"tls.cert: the file " + good.Key + " holds no certificate":  with(func(o *TLS) { o.Cert = o.Key }),
		"tls.key: the file " + good.Cert + " holds no private key":  with(func(o *TLS) { o.Key = o.Cert }),
		"tls.key: the file " + f.dir + "/e.pem is protected by":     with(func(o *TLS) { o.Key = at("e.pem", locked) }),
		"/b.pem) make no pair: ":                                    with(func(o *TLS) { o.Key = at("b.pem", broken) }),
		"/o.pem) make no pair: ":                                    with(func(o *TLS) { o.Key = at("o.pem", otherKey) }),
	} {
		_, err := get(t, newClient(t, Options{Host: "127.0.0.1", TLS: o}), s.URL)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%v\nwants %q", err, want)
		}
	}
}

// A file that is missing at first may still come.
func TestFileComesLater(t *testing.T) { // B7
	ca, f := newAuthority(t, "ca"), newFolder(t)
	s := ca.serveTLS(t, "127.0.0.1")
	c := newClient(t, Options{Host: "127.0.0.1", TLS: TLS{CA: filepath.Join(f.dir, "ca.pem")}})
	if _, err := get(t, c, s.URL); err == nil {
		t.Fatal("no authority, no error")
	}
	f.write(t, "ca.pem", ca.pem)
	if _, err := get(t, c, s.URL); err != nil {
		t.Error(err)
	}
}

func TestNewRefusesHalves(t *testing.T) {
	for _, o := range []Options{{TLS: TLS{Cert: "c"}}, {TLS: TLS{Key: "k"}}, {TLS: TLS{CA: "a"}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was accepted", o.TLS)
		}
	}
}

// net/http would show a proxy that is itself reached by TLS what is meant for the server.
func TestNoCertificateForAProxy(t *testing.T) { // B7
	proxy, _ := url.Parse("https://127.0.0.1:1")
	c := newClient(t, Options{Proxy: fixed(proxy), TLS: TLS{Cert: "c", Key: "k"}})
	if _, err := get(t, c, "https://server.example/"); err == nil || !strings.Contains(err.Error(), "NO_PROXY") {
		t.Error(err)
	}
}
