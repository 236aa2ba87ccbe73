package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// transportNamed knows how other products spell the types.
func transportNamed(s string) (string, bool) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)) {
	case "stdio":
		return TransportStdio, true
	case "http", "streamablehttp":
		return TransportHTTP, true
	case "sse":
		return TransportSSE, true
	case "ws", "websocket":
		return TransportWS, true
	case "grpc":
		return TransportGRPC, true
	}
	return "", false
}

func (e *entry) readType(f field) {
	s, ok := e.reader.text(f)
	if !keep(e, ok, ok) {
		return
	}
	kind, known := transportNamed(s)
	switch {
	case known:
		e.kind = kind
	case s == "local":
		e.failValue(f, `write "stdio"; servers of type local exist only inside a program`)
	case s == "sdk", s == "inmemory":
		e.failValue(f, `servers of this type exist only inside a program; give "command" or "url"`)
	case s == "remote":
		e.failValue(f, `write "http", or leave it out: the url says it`)
	case s == "tcp", s == "pipe":
		e.failValue(f, s+" is not supported; use stdio, http, sse, ws or grpc")
	default:
		e.failValue(f, `expected "stdio", "http", "sse", "ws" or "grpc"`)
	}
}

// schemes are how an address may begin, by transport; the first one is an example. Whatever the type, unix:/// is the
// path of a socket. Read only.
var schemes = map[string][]string{
	TransportHTTP: {"https", "http", "unix"},
	TransportSSE:  {"https", "http", "unix"},
	TransportWS:   {"wss", "ws", "https", "http", "unix"},
	TransportGRPC: {"grpcs", "grpc", "unix"},
}

// transportOf is what an address says where the entry has no type. B10
func transportOf(scheme string) string {
	switch scheme {
	case "ws", "wss":
		return TransportWS
	case "grpc", "grpcs":
		return TransportGRPC
	}
	return TransportHTTP
}

// checkTransport infers the transport and refuses fields of the other ones. B10
func (e *entry) checkTransport() {
	_, command := e.has["command"]
	_, url := e.has["url"]
	_, typed := e.has["type"]
	e.server.Inferred = !typed
	switch {
	case command && url:
		e.fail(e.at.key, e.at.path, `has both "command" and "url"; keep one of them`)
	case e.kind == TransportStdio && !command:
		e.fail(e.at.key, e.at.path, `is of type stdio and has no "command"; write "command": "…"`)
	case e.kind != "" && e.kind != TransportStdio && !url:
		e.fail(e.at.key, e.at.path, "is of type "+e.kind+` and has no "url"; write "url": "`+schemes[e.kind][0]+`://…"`)
	case !command && !url && (!typed || e.kind != ""):
		e.fail(e.at.key, e.at.path, `needs "command" (a program) or "url" (a remote server)`)
	case command:
		e.server.Transport = TransportStdio
		e.refuse(append([]string{"headers", "tls"}, bearerFields...)...)
	case url:
		e.server.Transport = e.kind
		if e.kind == "" {
			e.server.Transport = transportOf(e.scheme)
		}
		e.refuse("args", "env", "cwd")
		e.checkScheme()
		e.addBearer()
		e.checkPlaintext()
	}
}

// checkScheme holds the address against the type, and against tls. Nothing is known of an address with a variable.
func (e *entry) checkScheme() {
	if e.scheme == "" {
		return
	}
	address, settings := e.has["url"], e.has["tls"]
	switch allowed := schemes[e.server.Transport]; {
	case !slices.Contains(allowed, e.scheme):
		e.failValue(address, "the address of a server of type "+e.server.Transport+" begins with "+shownSchemes(allowed))
	case e.server.Transport == TransportGRPC && e.scheme != "unix" && !e.port:
		e.failValue(address, "names no port; write "+e.scheme+"://host:port")
	case e.server.TLS != (TLS{}) && !slices.Contains([]string{"https", "wss", "grpcs"}, e.scheme):
		e.fail(settings.key, settings.path, "has no meaning for an address that begins with "+e.scheme+"://; remove it, or correct the address")
	}
}

func shownSchemes(list []string) string {
	last := len(list) - 1 // unix
	return strings.Join(list[:last], "://, ") + ":// or unix:///"
}

// refuse reports fields that the transport can't use, unless they are empty.
func (e *entry) refuse(names ...string) {
	for _, name := range names {
		f, ok := e.has[name]
		if ok && !isEmpty(f.value) {
			e.fail(f.key, f.path, "has no meaning for a server of type "+e.server.Transport+"; remove it")
		}
	}
}

func isEmpty(v hujson.Value) bool {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return len(c.Members) == 0
	case *hujson.Array:
		return len(c.Elements) == 0
	}
	return textOf(v) == ""
}
