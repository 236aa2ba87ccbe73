package ws

import (
	nethttp "net/http"
	"net/netip"
	"net/url"
	"strings"
)

// SameOrigin lets in whoever is no web page, and web pages of the very host and port that they connect to. A browser
// sends its cookies and a page's origin with every WebSocket, but asks nobody whether the page may open it.
//
// A page that reaches us by a name of its own (DNS rebinding) looks like one of ours, so a Host is trusted only if it is
// localhost or an IP address. To let in pages under another name, or of another origin, write a function that compares
// the Origin header with it and falls back to SameOrigin.
func SameOrigin(r *nethttp.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		strings.EqualFold(u.Host, r.Host) && isOurs(u.Hostname())
}

// isOurs reports whether nobody else can make a host name lead here.
func isOurs(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || strings.EqualFold(name, "localhost")
}
