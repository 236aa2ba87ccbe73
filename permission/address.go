package permission

import (
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// maxDecoded is how often a value is decoded: by a server, by what it calls, and by what that calls.
const maxDecoded = 3

// decode takes percent encoding out once, and leaves what isn't any as it is, as most servers do.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if b, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				out = append(out, b[0])
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// browsers read addresses of these schemes with any number and kind of slashes behind the colon (WHATWG URL, "special").
var special = []string{"http", "https", "ws", "wss", "ftp"}

// addURL adds an address as a browser reads it, without its user, with its port and without one, with its path cleaned.
func addURL(all []string, s string) []string {
	s = strings.TrimSpace(fold(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s)))
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !isScheme(scheme) || !slices.Contains(special, scheme) && !strings.HasPrefix(rest, "//") {
		return all
	}
	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/")
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i:]
	}
	host = strings.TrimRight(host, ".")
	way, query := tail, ""
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		way, query = tail[:i], tail[i:]
	}
	for _, at := range [...]string{host, host + port} {
		at = scheme + "://" + at
		if way == "" || way == "/" {
			all = addForm(all, at+query)
		}
		all = addForm(addForm(all, at+"/"+strings.TrimPrefix(way, "/")+query), at+path.Clean("/"+way)+query)
	}
	return all
}
