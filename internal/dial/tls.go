package dial

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// TLS are the files and the name by which Usher and a server know each other. They are paths of PEM files, each at most
// 1 MiB. All may be empty.
type TLS struct {
	CA         string // the authorities that count, instead of the system's
	Cert, Key  string // what Usher shows a server that asks who it is (mTLS): the chain and its key
	ServerName string // what the server's certificate must name, and what it is asked for; default: the host
}

// TLSConfig returns settings for any protocol over TLS 1.2 or later. Files are looked at in each handshake: one that has
// changed counts from then on, one that changed into something unusable is reported and the former content stays.
//
// With TLS.CA the certificate must name Options.Host (or TLS.ServerName), whatever name is dialled.
func (d *Dialer) TLSConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.o.TLS.ServerName}
	if d.pair != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return d.pair.get() }
	}
	if d.ca != nil {
		// The usual check can't read its authorities anew. VerifyConnection takes its place; it runs in every handshake.
		c.InsecureSkipVerify = true
		c.VerifyConnection = d.verify
	}
	return c
}

// verify is what crypto/tls does itself where RootCAs are given. The name isn't taken from the handshake, since that has
// none where an IP address was dialled.
func (d *Dialer) verify(cs tls.ConnectionState) error {
	authorities, err := d.ca.get()
	if err != nil {
		return err
	}
	name := d.o.TLS.ServerName
	if name == "" {
		name = d.o.Host
	}
	if name == "" || len(cs.PeerCertificates) == 0 {
		return errors.New("the server showed no certificate, or has no name to check it against")
	}
	o := x509.VerifyOptions{DNSName: name, Roots: authorities.pool, Intermediates: x509.NewCertPool()}
	for _, c := range cs.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := cs.PeerCertificates[0].Verify(o); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	return nil
}

type roots struct{ pool *x509.CertPool }

// watch returns nil for what isn't configured.
func (t TLS) watch(report func(error)) (*watched[roots], *watched[*tls.Certificate]) {
	var ca *watched[roots]
	var pair *watched[*tls.Certificate]
	if t.CA != "" {
		ca = &watched[roots]{files: []file{{"tls.ca", t.CA}}, parse: parseCA, report: report}
	}
	if t.Cert != "" {
		pair = &watched[*tls.Certificate]{files: []file{{"tls.cert", t.Cert}, {"tls.key", t.Key}}, parse: parsePair, report: report}
	}
	return ca, pair
}

func parseCA(files []file, contents [][]byte) (roots, error) {
	r := roots{x509.NewCertPool()}
	if !r.pool.AppendCertsFromPEM(contents[0]) {
		return roots{}, files[0].bad("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	return r, nil
}

// parsePair names the file that is wrong where that can be told. The errors of crypto/tls hold nothing of the content.
func parsePair(files []file, contents [][]byte) (*tls.Certificate, error) {
	cert, key := files[0], files[1]
	switch {
	case !hasBlock(contents[0], "CERTIFICATE"):
		return nil, cert.bad("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	case hasBlock(contents[1], "ENCRYPTED PRIVATE KEY"), bytes.Contains(contents[1], []byte("\nProc-Type: 4,ENCRYPTED")):
		return nil, key.bad("is protected by a password, which Usher can't ask for; store it without one (openssl pkey)")
	case !hasBlock(contents[1], "PRIVATE KEY"):
		return nil, key.bad("holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
	}
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("%s (%s) and %s (%s) make no pair: %w", cert.field, cert.path, key.field, key.path, err)
	}
	return &pair, nil
}

// hasBlock finds a PEM block whose type ends in kind: there are "RSA PRIVATE KEY" and "EC PRIVATE KEY" too.
func hasBlock(content []byte, kind string) bool {
	for {
		b, rest := pem.Decode(content)
		if b == nil {
			return false
		}
		if bytes.HasSuffix([]byte(b.Type), []byte(kind)) {
			return true
		}
		content = rest
	}
}
