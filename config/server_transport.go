package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

func (e *entry) readType(f field) {
	s, ok := e.reader.text(f)
	switch keep(e, s, ok); {
	case !ok:
	case s == "stdio":
		e.kind = TransportStdio
	case s == "http", s == "streamable-http":
		e.kind = TransportHTTP
	case slices.Contains([]string{"sse", "ws", "grpc", "tcp", "sdk", "websocket"}, s):
		e.failValue(f, s+" is not supported by this version; use stdio or http")
	case strings.EqualFold(s, "streamableHttp"), s == "streamable_http", s == "remote":
		e.failValue(f, `write "http"`)
	case s == "local":
		e.failValue(f, `write "stdio"`)
	default:
		e.failValue(f, `expected "stdio", "http" or "streamable-http"`)
	}
}

// checkTransport infers the transport and refuses fields of the other one. B10
func (e *entry) checkTransport() {
	_, command := e.has["command"]
	_, url := e.has["url"]
	_, typed := e.has["type"]
	switch {
	case command && url:
		e.fail(e.at.key, e.at.path, `has both "command" and "url"; keep one of them`)
	case e.kind == TransportStdio && !command:
		e.fail(e.at.key, e.at.path, `is of type stdio and has no "command"; write "command": "…"`)
	case e.kind == TransportHTTP && !url:
		e.fail(e.at.key, e.at.path, `is of type http and has no "url"; write "url": "https://…"`)
	case !command && !url && (!typed || e.kind != ""):
		e.fail(e.at.key, e.at.path, `needs "command" (a program) or "url" (a remote server)`)
	case command:
		e.server.Transport = TransportStdio
		e.refuse("headers")
	case url:
		e.server.Transport = TransportHTTP
		e.refuse("args", "env", "cwd")
	}
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
