package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/lifecycle"
	"github.com/usher-mcp/usher/internal/secret"
	"github.com/usher-mcp/usher/transport"
)

// N3: what doctor says to write, by what went wrong. Addresses are shown without their query.
func TestCures(t *testing.T) {
	status := func(code int, body string) error { return &transport.StatusError{Status: code, Body: []byte(body)} }
	for _, c := range []struct {
		url  string
		err  error
		want string
	}{
		{"https://x/mcp", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{Cert: new(x509.Certificate)}}, `"tls": {"ca": "`},
		{"wss://x/ws", errors.New("x509: certificate signed by unknown authority"), `"tls": {"ca": "`},
		{"https://x/mcp", x509.HostnameError{Certificate: new(x509.Certificate), Host: "x"}, `"serverName"`},
		{"http://x:1/mcp?key=hidden", status(400, "Client sent an HTTP request to an HTTPS server.\n"), `write "url": "https://x:1/mcp"`},
		{"http://x:1/mcp", fmt.Errorf("read: %w", syscall.ECONNRESET), `try "url": "https://x:1/mcp"`},
		{"http://x:1", status(404, ""), `try "url": "http://x:1/mcp"`},
		{"http://x:1/", status(405, ""), `try "url": "http://x:1/mcp"`},
		{"http://x:1/mcp", status(404, ""), ""},
		{"http://x:1", status(500, ""), ""},
		{"unix:///a%20b.sock", status(404, ""), `try "url": "unix:///a%20b.sock:/mcp"`},
		{"unix:///a.sock:/mcp", status(404, ""), ""},
		{"unix:///gone.sock:/mcp", fmt.Errorf("dial: %w", syscall.ENOENT), "there is no socket /gone.sock;"},
		{"unix:///gone.sock:/mcp", syscall.ECONNREFUSED, "nobody listens at /gone.sock"},
		{"http://x:1/mcp", errors.New("readLoopPeekFailLocked: %!w(<nil>)"), `if it speaks gRPC, write "url": "grpc://x:1"`},
		{"grpc://x:1", errors.New("dial tcp: connection refused"), "nothing listens at x:1"},
		{"http://x.example/mcp", &net.DNSError{Err: "no such host", IsNotFound: true}, "no machine is called x.example"},
		{"http://x.example/mcp", context.Canceled, ""},
	} {
		all := cures(config.Server{Transport: config.TransportHTTP, URL: c.url}, &fault.Error{Kind: fault.Unavailable, Detail: "no", Cause: c.err})
		got := strings.Join(all, "|")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "hidden") {
			t.Errorf("%s, %v: %q, want %q", c.url, c.err, got, c.want)
		}
	}
}

// K2, N4: the beginning of a server's answer, in a line, without secrets and without what acts on a terminal.
func TestAnswered(t *testing.T) {
	secrets := new(secret.Set)
	secrets.Add("s3cret-token-value")
	body := "<html>\r\n  not found \x1b[31m s3cret-token-value " + strings.Repeat("x", 300)
	got := answered(&transport.StatusError{Status: 404, Body: []byte(body)}, secrets.Redact)
	if !strings.HasPrefix(got, `<html> not found \x1b[31m [redacted:`) || width(got) > maxSaid || strings.Contains(got, "s3cret") {
		t.Errorf("%q", got)
	}
	if got := answered(&transport.StatusError{Status: 500, Body: []byte("x")}, secrets.Redact); got != "" {
		t.Errorf("%q", got)
	}
}

func TestCommandLine(t *testing.T) {
	c := config.Server{Command: "npx", Args: []string{
		"-y", "a b", "--api-key", "one", "--token=two", "API_TOKEN=three", "postgres://me:four@db/x", "--verbose",
	}}
	got := commandLine(c, func(b []byte) []byte { return b })
	want := "npx -y 'a b' --api-key [secret] '--token=[secret]' 'API_TOKEN=[secret]' 'postgres://[secret]@db/x' --verbose"
	if got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestInWords(t *testing.T) {
	for want, c := range map[string]config.Server{
		"no answer within 10 s, its startTimeout":   {},
		"no answer within 1.5 s, its startTimeout":  {StartTimeout: 1500 * time.Millisecond},
		"no answer within 300 ms, its startTimeout": {StartTimeout: 300 * time.Millisecond},
		"no answer within 2 min, its startTimeout":  {StartTimeout: 2 * time.Minute},
	} {
		if got := inWords(c, &fault.Error{Kind: fault.Timeout}, "x"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// A package runner that was up once has no longer the time of its first start (C8), and not all silence is at a start.
	runner := config.Server{Lifecycle: lifecycle.Settings{Connect: 10 * time.Second, FirstConnect: 2 * time.Minute}}
	for detail, want := range map[string]string{
		"it didn't answer within 10 s":          "no answer within 10 s, its startTimeout",
		"it didn't answer within 120 s":         "no answer within 120 s, its startTimeout",
		"the deadline passed without an answer": "x",
	} {
		if got := inWords(runner, &fault.Error{Kind: fault.Timeout, Detail: detail}, "x"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
