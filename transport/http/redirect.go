package http

import (
	"fmt"
	nethttp "net/http"
	"strings"

	"github.com/usher-mcp/usher/transport"
)

const maxRedirects = 3

// checkRedirect lets a request go on within its host only, so that its headers reach nobody else, and only as the POST
// or DELETE that it was: after 301, 302 and 303 net/http would make a GET of it.
func checkRedirect(next *nethttp.Request, via []*nethttp.Request) error {
	first := via[0]
	status := 0
	if next.Response != nil {
		status = next.Response.StatusCode
	}
	refuse := func(why string) error {
		return fmt.Errorf("the server redirects to %s://%s, %s: %w",
			next.URL.Scheme, next.URL.Host, why, &transport.StatusError{Status: status})
	}
	switch {
	case !strings.EqualFold(next.URL.Host, first.URL.Host):
		return refuse("another host, which isn't followed; if you trust it, make it the url of this server")
	case next.URL.Scheme != first.URL.Scheme && next.URL.Scheme != "https":
		return refuse("without TLS, which isn't followed")
	case next.Method != first.Method:
		return refuse("in a way that would lose the message; make the address it points to the url of this server")
	case len(via) > maxRedirects:
		return refuse(fmt.Sprintf("more than %d times in a row", maxRedirects))
	}
	return nil
}
