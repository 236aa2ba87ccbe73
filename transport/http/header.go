package http

import (
	"encoding/base64"
	"fmt"
	nethttp "net/http"
	"strings"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
)

// isOwn tells headers that a user's configuration can't set, because the protocol does.
func isOwn(name string) bool {
	switch name {
	case "Accept", "Content-Type", "Last-Event-Id",
		mcp.HeaderSession, mcp.HeaderRevision, mcp.HeaderMethod, mcp.HeaderName:
		return true
	}
	return false
}

// headers makes the headers of one request. Its map is new; the slices of the headers that all requests share are not.
func (c *conn) headers(mirror mcp.Mirror, session string) (nethttp.Header, error) {
	h := make(nethttp.Header, len(c.header)+4+len(mirror.Params))
	for name, values := range c.header {
		h[name] = values
	}
	for _, f := range [...]struct{ name, value string }{
		{mcp.HeaderRevision, mirror.Revision}, {mcp.HeaderMethod, mirror.Method}, {mcp.HeaderSession, session},
	} {
		if f.value == "" {
			continue
		}
		if !isVisible(f.value) {
			return nil, fmt.Errorf("%w: %q can't be the value of the header %s", transport.ErrNotSent, f.value, f.name)
		}
		h[f.name] = []string{f.value}
	}
	if mirror.Name != "" {
		h[mcp.HeaderName] = []string{encodeValue(mirror.Name)}
	}
	for _, p := range mirror.Params {
		if !dial.IsToken(p.Name) {
			return nil, fmt.Errorf("%w: %q can't be part of a header's name", transport.ErrNotSent, p.Name)
		}
		h[nethttp.CanonicalHeaderKey(mcp.HeaderParam+p.Name)] = []string{encodeValue(p.Value)}
	}
	return h, nil
}

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// encodeValue writes a value of Mcp-Name or Mcp-Param-* (2026-07-28, "Value encoding"): as it is where HTTP keeps every
// byte of it, else as base64.
func encodeValue(s string) string {
	if isPlain(s) && !(strings.HasPrefix(s, encodedPrefix) && strings.HasSuffix(s, encodedSuffix)) {
		return s
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + encodedSuffix
}

// isPlain allows spaces and tabs inside, not at the ends, where HTTP drops them.
func isPlain(s string) bool {
	for i := range len(s) {
		blank := s[i] == ' ' || s[i] == '\t'
		if blank && (i == 0 || i == len(s)-1) || !blank && (s[i] < 0x21 || s[i] > 0x7e) {
			return false
		}
	}
	return true
}

// isVisible reports whether s is not empty and holds visible ASCII only.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}
