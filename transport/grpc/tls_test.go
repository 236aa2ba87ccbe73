package grpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// authority is a CA of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	a.cert = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "a test's CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t testing.TB, c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func (a *authority) pair(t testing.TB, name string, use x509.ExtKeyUsage) tls.Certificate {
	key := newKey(t)
	c := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{use},
	}, key)
	return tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key}
}

func (a *authority) server(t testing.TB) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.pair(t, "server", x509.ExtKeyUsageServerAuth)}}
}

// client has a certificate if it has a name.
func (a *authority) client(t testing.TB, name string) *tls.Config {
	c := &tls.Config{RootCAs: a.pool}
	if name != "" {
		c.Certificates = []tls.Certificate{a.pair(t, name, x509.ExtKeyUsageClientAuth)}
	}
	return c
}

func (a *authority) mutual(t testing.TB) *tls.Config {
	c := a.server(t)
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.pool
	return c
}

// named answers every request with the name in the client's certificate.
func named(_ context.Context, c Client) (mcp.Handler, func(), error) {
	if c.TLS == nil || len(c.TLS.PeerCertificates) == 0 {
		return nil, nil, errors.New("no certificate")
	}
	name := c.TLS.PeerCertificates[0].Subject.CommonName
	return mcp.HandlerFunc(func(_ context.Context, m *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
		return mcp.Answer(m.ID, mcp.Quote(name)), nil
	}), nil, nil
}

// B7: mTLS, over TCP and over a socket.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	l, unix := listenUnix(t)
	run(t, NewServer(ServerOptions{Open: named, TLS: ca.mutual(t)}), l)
	for _, url := range []string{serve(t, ServerOptions{Open: named, TLS: ca.mutual(t)}), unix} {
		c := connect(t, Options{URL: url, TLS: ca.client(t, "alice")})
		if got := string(answer(t, c, "who", `{}`).Result); got != `"alice"` {
			t.Errorf("%s: the server knows the client as %s", url, got)
		}
		_, err := newTransport(t, Options{URL: url, TLS: ca.client(t, "")}).Connect(within(t, 5*time.Second))
		if !errors.Is(err, transport.ErrNotSent) { // the words are a matter of luck: the server's alert may come too late
			t.Errorf("%s: without a certificate: %v", url, err)
		}
	}
}

func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	url := serve(t, ServerOptions{Open: always(transporttest.Echo()), TLS: newAuthority(t).server(t)})
	_, err := newTransport(t, Options{URL: url}).Connect(within(t, 5*time.Second))
	if !errors.Is(err, transport.ErrNotSent) || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("Connect: %v", err)
	}
}

// One end speaks TLS, the other doesn't.
func TestTLSOnOneSide(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	plain := serve(t, ServerOptions{Open: always(transporttest.Echo())})
	secure := serve(t, ServerOptions{Open: always(transporttest.Echo()), TLS: ca.server(t)})
	for _, o := range []Options{
		{URL: strings.Replace(plain, "grpc:", "grpcs:", 1), TLS: ca.client(t, "")},
		{URL: strings.Replace(secure, "grpcs:", "grpc:", 1)},
	} {
		if _, err := newTransport(t, o).Connect(within(t, 5*time.Second)); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%s: %v", o.URL, err)
		}
	}
}
