package standard_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/grpc"
	"github.com/usher-mcp/usher/transport/sse"
	"github.com/usher-mcp/usher/transport/ws"
)

const bearer = "Bearer tok-12345678"

// remote is a server of one kind, with or without TLS.
type remote struct {
	kind string // http, sse, ws or grpc
	tls  *tls.Config
}

// say is a legacy server with one tool.
func say(_ context.Context, req *mcp.Message, _ mcp.Peer) (*mcp.Message, error) {
	switch req.Method {
	case "initialize":
		return mcp.Answer(req.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`)), nil
	case "tools/list":
		return mcp.Answer(req.ID, []byte(`{"tools":[{"name":"get","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)), nil
	case "tools/call":
		return mcp.Answer(req.ID, []byte(`{"content":[{"type":"text","text":"said"}]}`)), nil
	}
	return mcp.ErrorAnswer(req.ID, mcp.CodeMethodNotFound, "no such method", nil), nil
}

// start serves on l until the test ends.
func (r remote) start(t *testing.T, l net.Listener) {
	t.Helper()
	if r.kind == "grpc" {
		r.startGRPC(t, l)
		return
	}
	handler, closed := r.handler()
	s := &nethttp.Server{TLSConfig: r.tls, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
	s.Handler = nethttp.HandlerFunc(func(w nethttp.ResponseWriter, req *nethttp.Request) {
		if req.Header.Get("Authorization") != bearer {
			w.WriteHeader(nethttp.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	})
	done := make(chan error, 1)
	if r.tls == nil {
		go func() { done <- s.Serve(l) }()
	} else {
		go func() { done <- s.ServeTLS(l, "", "") }()
	}
	t.Cleanup(func() { _ = closed(); _ = s.Close(); <-done })
}

func (r remote) handler() (nethttp.Handler, func() error) {
	switch r.kind {
	case "sse":
		s := sse.NewServer(sse.ServerOptions{Handler: mcp.HandlerFunc(say)})
		return s, s.Close
	case "ws":
		s := ws.NewServer(ws.ServerOptions{Open: func(context.Context, *nethttp.Request) (mcp.Handler, func()) { return mcp.HandlerFunc(say), nil }})
		return s, s.Close
	}
	return nethttp.HandlerFunc(post), func() error { return nil }
}

// post is the least of Streamable HTTP.
func post(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method != nethttp.MethodPost {
		w.WriteHeader(nethttp.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := mcp.Parse(body)
	if err != nil || len(m.ID) == 0 {
		w.WriteHeader(nethttp.StatusAccepted)
		return
	}
	answer, _ := say(r.Context(), m, nil)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer.AppendTo(nil))
}

func (r remote) startGRPC(t *testing.T, l net.Listener) {
	t.Helper()
	s := grpc.NewServer(grpc.ServerOptions{TLS: r.tls, Open: func(_ context.Context, c grpc.Client) (mcp.Handler, func(), error) {
		if got := c.Header["authorization"]; len(got) != 1 || got[0] != bearer {
			return nil, nil, &transport.StatusError{Status: nethttp.StatusUnauthorized}
		}
		return mcp.HandlerFunc(say), nil, nil
	}})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	})
}

// identity is a certificate for 127.0.0.1 that is its own authority, and serves both ends.
type identity struct{ cert, key []byte }

func newIdentity(t *testing.T, name string) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return identity{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}
}

// write puts the pair into a folder, as cert.pem and key.pem.
func (i identity) write(t *testing.T, dir string) {
	t.Helper()
	for name, content := range map[string][]byte{"cert.pem": i.cert, "key.pem": i.key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// server shows i, and wants clients to show one of clients.
func (i identity) server(t *testing.T, clients ...identity) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(i.cert, i.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for _, c := range clients {
		pool.AppendCertsFromPEM(c.cert)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// entry is a server's entry in JSON.
func entry(members map[string]any) string {
	b, _ := json.Marshal(members)
	return string(b)
}
