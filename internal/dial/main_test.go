package dial

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

var serial atomic.Int64

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	a.cert, _ = x509.ParseCertificate(der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue returns a certificate and its key in PEM form. hosts are DNS names or IP addresses.
func (a *authority) issue(t *testing.T, name string, hosts ...string) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// serveTLS runs a server that a issued a certificate for, and that wants one of clients from the same authority. It
// answers with the name in it.
func (a *authority) serveTLS(t *testing.T, hosts ...string) *httptest.Server {
	t.Helper()
	cert, key := a.issue(t, "server", hosts...)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		name := "nobody"
		if c := r.TLS.PeerCertificates; len(c) > 0 {
			name = c[0].Subject.CommonName
		}
		_, _ = io.WriteString(w, name)
	}))
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// folder writes files of which each has a later time than all before.
type folder struct {
	dir   string
	clock time.Time
}

func newFolder(t *testing.T) *folder { return &folder{t.TempDir(), time.Now().Add(-time.Hour)} }

func (f *folder) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	f.clock = f.clock.Add(time.Second)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, f.clock, f.clock); err != nil {
		t.Fatal(err)
	}
	return path
}

// newClient returns a client whose connections end with the test. The server must have been started before.
func newClient(t *testing.T, o Options) *nethttp.Client {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Client()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// get returns the body; each request has a connection of its own.
func get(t *testing.T, c *nethttp.Client, url string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := nethttp.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer c.CloseIdleConnections()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(bytes.TrimSpace(b)), err
}
