package sse

import (
	"net/url"
	"testing"

	"github.com/usher-mcp/usher/internal/dial"
)

// Whatever a server says, messages go to its own origin, however the address is written.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/messages?sessionId=1", "//b.example/", "https://a.example:443/x", `\\b.example\x`, "https://a.example@b.example/",
		"?x", "https:b.example", "/\t/b.example", "https://[::1%25eth0]/"} {
		f.Add("https://a.example/sse", s)
	}
	f.Fuzz(func(t *testing.T, at, endpoint string) {
		base, err := dial.ParseWebURL(at, "https", "http")
		if err != nil {
			return
		}
		u, err := resolve(base, endpoint)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("%q at %q became %q: %v", endpoint, at, u, err)
		}
		for _, u := range []*url.URL{u, again} {
			if u.User != nil || u.Scheme != base.Scheme || u.Hostname() == "" || origin(u) != origin(base) {
				t.Fatalf("%q at %q became %q", endpoint, at, u)
			}
		}
	})
}
