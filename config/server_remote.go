package config

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/usher-mcp/usher/internal/secret"
)

// readURL takes any address that some transport has a use for; checkScheme says whether this one has.
func (e *entry) readURL(f field) {
	s := e.required(f, `an address; write "url": "https://…"`)
	if s == "" || e.lenient && strings.Contains(s, "${") {
		e.server.URL = s
		return
	}
	u, err := url.Parse(s) // its error holds the URL
	if err != nil || !reachable(u) {
		e.failValue(f, "not an address of a server; write https://host/path, or begin with http, wss, ws, grpcs or grpc, or write unix:///path of a socket")
		return
	}
	e.cfg.secrets.addURL(u)
	e.server.URL, e.scheme, e.port, e.away = s, u.Scheme, u.Port() != "", !isHere(u.Hostname())
	if u.Scheme == "unix" {
		e.server.URL = socketURL(u.Scheme + s[len(u.Scheme):]) // it may have been written UNIX
	}
}

func reachable(u *url.URL) bool {
	switch u.Scheme {
	case "unix":
		return u.Host == "" && len(u.Path) > 1 && u.Path[0] == '/'
	case "http", "https", "ws", "wss", "grpc", "grpcs":
		return u.Hostname() != ""
	}
	return false
}

// isHere reports whether what is sent to a host stays on this machine.
func isHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkPlaintext reports credentials that others could read on their way. The transport of grpc refuses them, so they
// cost the entry there; over http they are the user's choice, for there are networks that encrypt below.
func (e *entry) checkPlaintext() {
	if !e.away || !slices.Contains([]string{"http", "ws", "grpc"}, e.scheme) {
		return
	}
	at := e.has["url"]
	if e.scheme == "grpc" && len(e.server.Headers) > 0 {
		e.failValue(at, "its headers would go to another machine unencrypted; write grpcs://")
		return
	}
	for name := range e.server.Headers {
		if secretName(name) {
			e.bad(at, "its credentials go to another machine unencrypted; write "+e.scheme+"s://")
			return
		}
	}
}

// socketURL writes the path behind a socket as the transports read it: VS Code's unix:///run/x.sock#/mcp is
// unix:///run/x.sock:/mcp here. Only in the latter may a colon not stand in the socket's own path.
func socketURL(s string) string {
	socket, path, found := strings.Cut(s, "#")
	if !found {
		return s
	}
	socket = strings.TrimPrefix(socket, "unix://")
	socket = "unix://" + strings.ReplaceAll(socket, ":/", "%3A/")
	if strings.HasPrefix(path, "/") {
		return socket + ":" + path
	}
	return socket
}

// bearerFields are our own spellings of a token, and Codex's name of a variable that holds it. Read only.
var bearerFields = []string{"bearerToken", "bearer_token", "bearerTokenEnvVar", "bearer_token_env_var"}

func (e *entry) readBearer(f field) {
	s, ok := e.reader.text(f)
	if !keep(e, ok, ok) {
		return
	}
	if e.bearer.path != "" {
		e.fail(f.key, f.path, "the token is here twice, in two spellings; keep one of them")
		return
	}
	e.bearer = f
	if strings.HasSuffix(strings.ToLower(f.name), "var") {
		ref := "${" + s + "}"
		if r, ok := parseReference(ref); !ok || r.raw != ref || r.hasDefault {
			e.failValue(f, `expected the name of a variable, such as "TOKEN"; for the token itself write "bearerToken": "${TOKEN}"`)
			return
		}
		s = ref
	}
	s, ok = e.expand(f, s, true)
	if e.raw { // who is asked to trust it sees that it goes there
		e.token = s
		return
	}
	if !keep(e, ok, ok) || e.lenient && strings.Contains(s, "${") {
		return
	}
	if scheme, rest, found := strings.Cut(s, " "); found && strings.EqualFold(scheme, "bearer") {
		s = strings.TrimSpace(rest)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		e.failValue(f, "a token has no spaces, line breaks or other such characters; correct it or its variable")
		return
	}
	e.cfg.secrets.add(s)
	e.token = s
}

// addBearer makes a header of the token. An empty one is none.
func (e *entry) addBearer() {
	if e.token == "" {
		return
	}
	for name := range e.server.Headers {
		if strings.EqualFold(name, "Authorization") {
			e.fail(e.bearer.key, e.bearer.path, "headers.Authorization is there too; keep one of them")
			return
		}
	}
	if e.server.Headers == nil {
		e.server.Headers = make(map[string]secret.Value)
	}
	e.server.Headers["Authorization"] = secret.Value("Bearer " + e.token)
}

var tlsFields = []string{"ca", "cert", "key", "serverName"}

func (e *entry) readTLS(f field) {
	members, ok := e.members(f, `{"ca": "…", "cert": "…", "key": "…"}`)
	keep(e, ok, ok)
	t := &e.server.TLS
	for _, m := range members {
		switch m.name {
		case "ca":
			t.CA = e.path(m)
		case "cert":
			t.Cert = e.path(m)
		case "key":
			t.Key = e.path(m)
		case "serverName":
			t.ServerName = e.hostName(m)
		default:
			e.report(m.key, m.path, unknownTLS(m.name))
		}
	}
	if !e.broken && (t.Cert == "") != (t.Key == "") {
		e.fail(f.key, f.path, `"cert" and "key" belong together; name both files`)
	}
}

func unknownTLS(name string) string {
	switch lower := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)); lower {
	case "cacert", "cafile", "cabundle", "cabundlepath", "cacertificate", "rootca":
		return instead("ca")
	case "clientcert", "certfile", "certpath", "clientcertificate":
		return instead("cert")
	case "clientkey", "keyfile", "keypath", "privatekey":
		return instead("key")
	case "insecure", "insecureskipverify", "skipverify", "verify", "verifyssl", "rejectunauthorized":
		return `ignored: the server's certificate is always checked; name its authority in "ca"`
	}
	return unknown(name, tlsFields)
}

// path is a file. One that isn't absolute lies beside the configuration.
func (e *entry) path(f field) string {
	s, ok := e.text(f)
	if s = keep(e, s, ok); e.raw {
		return s
	}
	if s = e.home(s); s == "" || filepath.IsAbs(s) {
		return s
	}
	return filepath.Join(filepath.Dir(e.doc.name), s)
}

func (e *entry) hostName(f field) string {
	s, ok := e.text(f)
	if keep(e, ok, ok) && strings.ContainsAny(s, " /:@\t\r\n") && !(e.lenient && strings.Contains(s, "${")) {
		e.failValue(f, `expected the name in the server's certificate; write "host.example", without a port`)
	}
	return s
}
