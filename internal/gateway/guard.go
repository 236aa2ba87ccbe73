package gateway

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// refusal is an HTTP request that isn't let in: a status, a JSON-RPC code and what the client should do.
type refusal struct {
	status, code int
	text         string
}

func refuseStatus(status int, text string) *refusal {
	return &refusal{status, codeRefused, text}
}

// checkOrigin keeps web pages out: those that reach us by a name of their own (DNS rebinding), and those that send
// requests across origins. Nothing of the request is read before.
func (g *Gateway) checkOrigin(r *http.Request) *refusal {
	if !g.hostAllowed(r) {
		return refuseStatus(http.StatusForbidden, "the Host header names another machine or port; call usher by the address that it listens on, such as 127.0.0.1 with its port")
	}
	if !g.originsAllowed(r.Header["Origin"]) {
		return refuseStatus(http.StatusForbidden, textOrigin)
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return refuseStatus(http.StatusForbidden, "web pages of other sites may not use usher")
	}
	return nil
}

const textOrigin = "web pages of this origin may not use usher"

// Guard lets only those requests through to next whose Host and Origin HTTP would let in.
func (g *Gateway) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := g.checkOrigin(r); refusal != nil {
			g.refuse(w, "", refusal)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gateway) hostAllowed(r *http.Request) bool {
	local := r.Context().Value(http.LocalAddrContextKey)
	if _, isSocket := local.(*net.UnixAddr); isSocket {
		return true // no name leads a web page to a socket
	}
	name, port := splitHost(r.Host)
	for _, allowed := range g.o.AllowedHosts {
		if strings.EqualFold(allowed, name) || strings.EqualFold(allowed, r.Host) {
			return true
		}
	}
	if !isLoopback(name) {
		return false
	}
	tcp, ok := local.(*net.TCPAddr)
	if port == "" {
		port = "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	return ok && port == strconv.Itoa(tcp.Port)
}

// splitHost takes "name", "name:port", "[v6]" and "[v6]:port" apart.
func splitHost(host string) (name, port string) {
	if n, p, err := net.SplitHostPort(host); err == nil {
		return n, p
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// originsAllowed looks at all Origin headers of a request; programs send none.
func (g *Gateway) originsAllowed(origins []string) bool {
	return len(origins) == 0 || len(origins) == 1 && g.originAllowed(origins[0])
}

func (g *Gateway) originAllowed(origin string) bool {
	if slices.Contains(g.o.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && isLoopback(u.Hostname())
}

// checkContent looks at what the body is said to be and at what the client takes.
func checkContent(h http.Header) (accepted, *refusal) {
	if c := h.Get("Content-Type"); c != jsonType {
		if kind, _, err := mime.ParseMediaType(c); err != nil || kind != jsonType {
			return accepted{}, refuseStatus(http.StatusUnsupportedMediaType, "send JSON as Content-Type: application/json")
		}
	}
	a := readAccept(h["Accept"])
	if !a.json && !a.stream {
		return a, refuseStatus(http.StatusNotAcceptable, "accept application/json or text/event-stream, or both")
	}
	return a, nil
}

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// accepted is what a client takes as an answer.
type accepted struct{ json, stream bool }

// readAccept is tolerant: no header takes all, and weights but zero don't count.
func readAccept(values []string) (a accepted) {
	if len(values) == 0 {
		return accepted{true, true}
	}
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			kind, weight, _ := strings.Cut(item, ";")
			if w := strings.ReplaceAll(weight, " ", ""); strings.HasPrefix(w, "q=0") && strings.Trim(w[3:], ".0") == "" {
				continue
			}
			switch kind = strings.TrimSpace(kind); {
			case kind == "*/*":
				a = accepted{true, true}
			case strings.EqualFold(kind, jsonType), kind == "application/*":
				a.json = true
			case strings.EqualFold(kind, streamType), kind == "text/*":
				a.stream = true
			}
		}
	}
	return a
}
