package config

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// address is a server's URL in the forms that an administrator's pattern is held against.
type address struct {
	scheme, host, port string   // port is never "" where the scheme has a default
	paths              []string // all that the path may mean to a server
	query              string
}

// addressOf is not ok for what can't be told apart for certain.
func addressOf(raw string) (a address, ok bool) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return a, false
	}
	a.scheme = strings.ToLower(scheme)
	if a.scheme == "unix" {
		a.paths = pathForms(rest)
		return a, true
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return a, false
	}
	a.host, ok = canonicalHost(u.Hostname())
	a.port, a.query = u.Port(), u.RawQuery
	if a.port == "" {
		a.port = defaultPort(a.scheme)
	}
	if n, err := strconv.Atoi(a.port); err == nil {
		a.port = strconv.Itoa(n) // 0443
	}
	a.paths = pathForms(u.EscapedPath())
	return a, ok
}

func defaultPort(scheme string) string {
	switch scheme {
	case "https", "wss", "grpcs":
		return "443"
	case "http", "ws", "grpc":
		return "80"
	}
	return ""
}

// canonicalHost makes one spelling of all that lead to the same host: case, a dot at the end, letters that IDNA maps to
// others, and the ways to write an IP address.
func canonicalHost(host string) (string, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	bare, _, _ := strings.Cut(host, "%") // a zone
	if ip, err := netip.ParseAddr(bare); err == nil {
		return ip.Unmap().String(), true
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil && isASCII(host) {
		ascii, err = host, nil // such as one with _
	}
	if err != nil || ascii == "" {
		return host, false
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if ip, ok := oddIPv4(ascii); ok {
		return ip.String(), true
	}
	return ascii, true
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// oddIPv4 reads what inet_aton reads, and some resolvers with it: 127.1, 0x7f000001, 017700000001.
func oddIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if err != nil || strings.ContainsAny(p, "_oO") || strings.HasPrefix(strings.ToLower(p), "0b") || n >= 1<<bits {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// pathForms is what an escaped path may mean: as it is sent where it hides a separator, unescaped once and as often as
// it can be, and with its dots resolved, also where parameters or backslashes hide them.
func pathForms(escaped string) []string {
	once := unescaped(escaped)
	full := once
	for range 4 {
		full = unescaped(full)
	}
	forms := []string{once, full, cleaned(full), cleaned(strings.ReplaceAll(full, `\`, "/")), cleaned(withoutParameters(full))}
	if lower := strings.ToLower(escaped); strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") {
		forms = append(forms, escaped)
	}
	for i, f := range forms {
		if f == "" {
			forms[i] = "/"
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// cleaned keeps a slash at the end.
func cleaned(p string) string {
	if p == "" {
		return ""
	}
	out := path.Clean("/" + strings.TrimPrefix(p, "/"))
	if strings.HasSuffix(p, "/") && out != "/" {
		out += "/"
	}
	return out
}

func withoutParameters(p string) string {
	parts := strings.Split(p, "/")
	for i, s := range parts {
		parts[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(parts, "/")
}
