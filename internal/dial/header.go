package dial

import (
	"fmt"
	nethttp "net/http"
	"strings"
)

// Header checks the headers that a user wants sent with every request and returns a copy of them with canonical names,
// without Host, which net/http takes from elsewhere, and without those that belong to HTTP itself or, by own, to the
// protocol on top of it. User-Agent is there in any case. own is asked with canonical names. No error names a value.
//
// Idempotency keys are refused because net/http resends what bears one, and one key can't stand for every request.
func Header(h nethttp.Header, own func(name string) bool) (clean nethttp.Header, host string, err error) {
	clean = make(nethttp.Header, len(h)+3)
	for name, values := range h {
		if !IsToken(name) {
			return nil, "", fmt.Errorf("the header name %q isn't one that HTTP allows", name)
		}
		name = nethttp.CanonicalHeaderKey(name)
		if name == "Idempotency-Key" || name == "X-Idempotency-Key" {
			return nil, "", fmt.Errorf("the header %s can't be the same for all requests; remove it", name)
		}
		for _, v := range values {
			if !IsFieldValue(v) {
				return nil, "", fmt.Errorf("the value of the header %s holds a line break or another control character", name)
			}
			if !ofHTTP(name) && !own(name) {
				clean.Add(name, v)
			}
		}
	}
	host = clean.Get("Host")
	clean.Del("Host")
	if clean.Get("User-Agent") == "" {
		clean.Set("User-Agent", "usher")
	}
	return clean, host, nil
}

// ofHTTP tells headers that say how a message is sent.
func ofHTTP(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Expect", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// IsFieldValue is RFC 9110, section 5.5, with what net/http lets through: bytes above ASCII.
func IsFieldValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// IsToken is RFC 9110, section 5.6.2: what the name of a header is made of.
func IsToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
