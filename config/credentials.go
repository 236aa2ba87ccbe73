package config

import "net/url"

// HasCredentials reports whether the entry carries a secret, as far as names tell, so that what its server answers may be
// its user's alone.
func (s *Server) HasCredentials() bool {
	if len(s.Headers) > 0 || s.TLS.Key != "" {
		return true
	}
	for name := range s.Env {
		if secretName(name) {
			return true
		}
	}
	found := &secrets{}
	if u, err := url.Parse(s.URL); err == nil {
		found.addURL(u)
	}
	return len(found.values) > 0
}
