package dial

import (
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"
	"unicode"
)

const maxRedirects = 3

// RedirectError is a redirect that wasn't followed.
type RedirectError struct {
	Status int    // 301, 302, 303, 307 or 308
	To     string // scheme and host, fit to be shown; path and query may hold a key
	Why    string
}

var _ error = (*RedirectError)(nil)

func (e *RedirectError) Error() string { return "the server redirects to " + e.To + ", " + e.Why }

// SameHost is a CheckRedirect for requests that carry credentials: it follows a redirect at most 3 times, only within
// the host, only with the same method, and not from https to http. Other errors than *RedirectError don't occur.
func SameHost(next *nethttp.Request, via []*nethttp.Request) error {
	first := via[0]
	switch {
	case hostOf(next.URL) != hostOf(first.URL):
		return refuse(next, "another host, which isn't followed; if you trust it, make it the url of this server")
	case next.Method != first.Method:
		return refuse(next, "in a way that would lose the message; make the address it points to the url of this server")
	}
	return common(next, via)
}

// Bare is a CheckRedirect for public documents: it follows a redirect at most 3 times and not from https to http. To
// another host it takes no header but Accept, Accept-Language and User-Agent, and no body.
func Bare(next *nethttp.Request, via []*nethttp.Request) error {
	if hostOf(next.URL) != hostOf(via[0].URL) {
		if next.Method != nethttp.MethodGet && next.Method != nethttp.MethodHead {
			return refuse(next, "another host, to which only a GET would be followed")
		}
		bare := nethttp.Header{}
		for _, name := range []string{"Accept", "Accept-Language", "User-Agent"} {
			if v := next.Header.Values(name); len(v) > 0 {
				bare[name] = v
			}
		}
		next.Header, next.Host = bare, ""
	}
	return common(next, via)
}

// common also takes the Referer away, which holds the query of the URL before.
func common(next *nethttp.Request, via []*nethttp.Request) error {
	next.Header.Del("Referer")
	switch {
	case via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https":
		return refuse(next, "without TLS, which isn't followed")
	case next.URL.Scheme != "https" && next.URL.Scheme != "http":
		return refuse(next, "which is no address of the web")
	case next.URL.User != nil:
		return refuse(next, "with a user or password of its own, which isn't followed")
	case len(via) > maxRedirects:
		return refuse(next, fmt.Sprintf("more than %d times in a row", maxRedirects))
	}
	return nil
}

func refuse(next *nethttp.Request, why string) error {
	e := &RedirectError{To: next.URL.Scheme + "://" + shown(next.URL.Host), Why: why}
	if next.Response != nil {
		e.Status = next.Response.StatusCode
	}
	return e
}

// shown makes the name that a server gave a host fit for one line.
func shown(host string) string {
	const max = 200
	if len(host) > max {
		host = host[:max] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, strings.ToValidUTF8(host, "?"))
}

// hostOf returns "host:port" in one spelling. The port of https and of http is the same host's: whether TLS may be left
// is another question.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		port = ""
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}
