package config

import (
	"slices"
	"strings"
	"unicode"
)

// urlPattern is a serverUrl of the administrator's lists: * stands for any characters, but never reaches from one part of
// an address into the next, so that https://*.corp.example/* doesn't match https://evil.example/a.corp.example/b.
type urlPattern struct {
	scheme, host, port, path, query string // port, path and query: "" is any, or for port, in an allow list, the default
	text                            string // as written
	whole                           string // with scheme and host in small letters; all of it where it has no scheme
}

// parsePattern says why an allow list can't have the pattern. What a deny list can make of it is there nevertheless.
func parsePattern(s string) (p urlPattern, why string) {
	p.text, p.whole = s, strings.ToLower(s)
	if s == "*" {
		p.scheme, p.host, p.port = "*", "*", "*"
		return p, ""
	}
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		return p, `it has no scheme; write "https://host/*"`
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' }) {
		why = "an address has no spaces, backslashes or control characters"
	}
	p.scheme = strings.ToLower(scheme)
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority, why = authority[i+1:], "a pattern has no user and password"
	}
	p.whole = strings.ToLower(scheme+"://"+authority) + rest
	p.host, p.port = splitPort(authority)
	if p.host == "" && p.scheme != "unix" {
		why = "it names no host"
	}
	p.host = patternHost(p.host)
	rest, _, _ = strings.Cut(rest, "#")
	p.path, p.query, _ = strings.Cut(rest, "?")
	p.path = unescaped(p.path)
	return p, why
}

func splitPort(authority string) (host, port string) {
	if strings.HasPrefix(authority, "[") {
		host, port, _ = strings.Cut(authority[1:], "]")
		return host, strings.TrimPrefix(port, ":")
	}
	if i := strings.LastIndexByte(authority, ':'); i >= 0 {
		return authority[:i], strings.TrimLeft(authority[i+1:], "0")
	}
	return authority, ""
}

// patternHost spells what stands between the stars as a server's host is spelled.
func patternHost(host string) string {
	if !strings.Contains(host, "*") {
		h, _ := canonicalHost(host)
		return h
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	for i, l := range labels {
		if !strings.Contains(l, "*") && l != "" && !isASCII(l) {
			labels[i], _ = canonicalHost(l)
		}
	}
	return strings.Join(labels, ".")
}

// allows reads narrowly: all that the address may mean has to match.
func (p urlPattern) allows(a address) bool {
	port := p.port
	if port == "" {
		port = defaultPort(a.scheme)
	}
	hostPort := glob(p.host, a.host) && glob(port, a.port)
	if strings.HasSuffix(p.host, "*") && p.port == "" { // https://* has the port in its star
		hostPort = glob(p.host, a.host)
	}
	return glob(p.scheme, a.scheme) && hostPort && (p.query == "" || glob(p.query, a.query)) &&
		(p.path == "" || !slices.ContainsFunc(a.paths, func(form string) bool { return !glob(p.path, form) }))
}

// denies reads widely: anything that the address may mean is enough; without a port it is about all ports, and a path of
// / alone is about the host. The two schemes of a WebSocket are those of HTTP.
func (p urlPattern) denies(a address, raw string) bool {
	if scheme, rest, _ := strings.Cut(raw, "://"); p.scheme != "" {
		end := strings.IndexAny(rest+"/", "/?#")
		raw = strings.ToLower(scheme+"://"+rest[:end]) + rest[end:]
	} else {
		raw = strings.ToLower(raw)
	}
	if glob(p.whole, raw) {
		return true
	}
	twin := map[string]string{"wss": "https", "ws": "http", "https": "wss", "http": "ws"}[a.scheme]
	return (glob(p.scheme, a.scheme) || twin != "" && glob(p.scheme, twin)) &&
		glob(p.host, a.host) && (p.port == "" || glob(p.port, a.port)) && (p.query == "" || glob(p.query, a.query)) &&
		(p.path == "" || p.path == "/" || slices.ContainsFunc(a.paths, func(form string) bool { return glob(p.path, form) }))
}

// glob matches s with a pattern in which * stands for any characters, in time linear in both for each star.
func glob(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, rest)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], after
	}
}
