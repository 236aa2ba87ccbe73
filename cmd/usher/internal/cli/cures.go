package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/transport"
)

// cures are what would repair the entry of a remote server that can't be reached, or what to do outside of it. Some
// transports hand on only the words of what went wrong, so these are looked at too.
func cures(c config.Server, err error) []string {
	u, parseErr := url.Parse(c.URL)
	if parseErr != nil || err == nil {
		return nil
	}
	said := err.Error()
	if cause := fault.Of(err).Cause; cause != nil {
		said += "\n" + cause.Error()
	}
	for _, cure := range []func(*url.URL, error, string) string{wrongSecurity, wrongProtocol, wrongSocket, unreached, wrongPath} {
		if text := cure(u, err, said); text != "" {
			return []string{text}
		}
	}
	return nil
}

func entryURL(u string) string { return fmt.Sprintf(`"url": "%s"`, u) }

// wrongSecurity is about TLS: at a port that has none, missing at one that wants it, or with a certificate that isn't
// trusted.
func wrongSecurity(u *url.URL, err error, said string) string {
	plain := url.URL{Scheme: strings.TrimSuffix(u.Scheme, "s"), Host: u.Host, Path: u.Path}
	secure := url.URL{Scheme: u.Scheme + "s", Host: u.Host, Path: u.Path}
	status, _ := errors.AsType[*transport.StatusError](err)
	unknown, _ := errors.AsType[x509.UnknownAuthorityError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	switch {
	case plain.Scheme != u.Scheme && (strings.Contains(said, "first record does not look like a TLS handshake") || strings.Contains(said, "server gave HTTP response to HTTPS client")):
		return "this port speaks no TLS; write " + entryURL(plain.String())
	case unknown.Cert != nil, strings.Contains(said, "signed by unknown authority"):
		return `nobody here knows who signed its certificate; name that authority: "tls": {"ca": "/path/to/ca.pem"}`
	case otherName, strings.Contains(said, "x509: cannot validate certificate for"), strings.Contains(said, "x509: certificate is valid for"):
		return `its certificate is for another name; give that name: "tls": {"serverName": "host.example"}`
	case plain.Scheme != u.Scheme || u.Scheme == "unix":
		return ""
	case status != nil && strings.Contains(string(status.Body), "HTTP request to an HTTPS server"):
		return "this port wants TLS; write " + entryURL(secure.String())
	case errors.Is(err, syscall.ECONNRESET), strings.Contains(said, "connection reset by peer"), strings.Contains(said, `malformed HTTP response "\x15\x03`):
		return "it ended the connection, as a port that wants TLS does; try " + entryURL(secure.String())
	}
	return ""
}

// wrongProtocol is about HTTP at a port of gRPC and the other way round.
func wrongProtocol(u *url.URL, _ error, said string) string {
	grpc := strings.HasPrefix(u.Scheme, "grpc")
	tls := ""
	if strings.HasSuffix(u.Scheme, "s") {
		tls = "s"
	}
	switch {
	case !grpc && strings.Contains(said, `malformed HTTP response "\x00\x00`):
		return "this port speaks HTTP/2 only, as gRPC does; write " + entryURL("grpc"+tls+"://"+u.Host)
	case !grpc && strings.Contains(said, "readLoopPeekFailLocked"): // net/http's word for it, if the port hangs up early
		return "this port ended the connection without an HTTP answer; if it speaks gRPC, write " + entryURL("grpc"+tls+"://"+u.Host)
	case grpc && (strings.Contains(said, "error reading server preface") || strings.Contains(said, "HTTP/1.1 header") || strings.Contains(said, "unexpected content-type")):
		return "this port speaks no gRPC; if it speaks HTTP, write " + entryURL("http"+tls+"://"+u.Host+"/mcp")
	}
	return ""
}

// wrongSocket is about the path of a Unix socket.
func wrongSocket(u *url.URL, err error, said string) string {
	if u.Scheme != "unix" {
		return ""
	}
	path, _, _ := strings.Cut(u.Path, ":/")
	switch {
	case errors.Is(err, syscall.ENOTDIR), strings.Contains(said, "not a directory"):
		if socket := socketIn(path); socket != "" {
			return "what is asked for stands behind a colon; write " + entryURL("unix://"+socket+":"+strings.TrimPrefix(path, socket))
		}
	case errors.Is(err, syscall.ENOENT), strings.Contains(said, "no such file or directory"):
		return "there is no socket " + path + "; start the server, or correct its path"
	case errors.Is(err, syscall.EACCES), strings.Contains(said, "permission denied"):
		return "you may not use the socket " + path + "; run usher as the user whose it is"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(said, "connection refused"):
		return "nobody listens at " + path + "; start the server"
	}
	return ""
}

// socketIn is the part of a path that is a socket.
func socketIn(path string) string {
	for ; len(path) > 1; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return path
		}
	}
	return ""
}

func unreached(u *url.URL, err error, said string) string {
	lookup, _ := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(said, "connection refused"):
		return "nothing listens at " + u.Host + "; start the server, or correct the port"
	case lookup != nil && lookup.IsNotFound, strings.Contains(said, "no such host"):
		return "no machine is called " + u.Hostname() + "; correct the name, or check the network"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to " + u.Hostname() + " from here; check the network"
	}
	return ""
}

// wrongPath is about an address that works and has nothing there.
func wrongPath(u *url.URL, err error, _ string) string {
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok || status.Status != http.StatusNotFound && status.Status != http.StatusMethodNotAllowed {
		return ""
	}
	switch bare := u.Path == "" || u.Path == "/"; {
	case u.Scheme == "unix" && !strings.Contains(u.Path, ":/"):
		return "the address names no path behind the socket; try " + entryURL("unix://"+u.EscapedPath()+":/mcp")
	case bare && strings.HasPrefix(u.Scheme, "http"):
		return "the address names no path; try " + entryURL(u.Scheme+"://"+u.Host+"/mcp")
	case bare && strings.HasPrefix(u.Scheme, "ws"):
		return "the address names no path; try " + entryURL(u.Scheme+"://"+u.Host+"/ws")
	}
	return ""
}

const maxSaid = 120 // columns of an answer that is shown

// answered is the beginning of what a server answered that refused, in a line.
func answered(err error, redact func([]byte) []byte) string {
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok || status.Status < 400 || status.Status > 499 {
		return ""
	}
	const looked = 4 << 10 // more than is shown, lest the cut leave half of a secret
	text := string(redact(status.Body[:min(len(status.Body), looked)]))
	return cut(line(strings.Join(strings.Fields(text), " ")), maxSaid)
}
