package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/usher-mcp/usher/internal/secret"
)

// secrets is what must be redacted from all that usher shows.
type secrets struct{ values map[string]struct{} }

func (s *secrets) add(values ...string) {
	for _, v := range values {
		if len(v) < secret.MinLen {
			continue
		}
		if s.values == nil {
			s.values = make(map[string]struct{})
		}
		s.values[v] = struct{}{}
	}
}

func (s *secrets) sorted() []string { return slices.Sorted(maps.Keys(s.values)) }

// addCredentials adds what follows the scheme of a header such as
// "Authorization: Bearer …".
func (s *secrets) addCredentials(header string) {
	scheme, credentials, ok := strings.Cut(strings.TrimSpace(header), " ")
	if ok && !strings.ContainsFunc(scheme, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		s.add(strings.TrimSpace(credentials))
	}
}

// addURL adds the password of a URL and its query values under secret names.
func (s *secrets) addURL(u *url.URL) {
	if password, ok := u.User.Password(); ok {
		s.add(password)
		_, raw, _ := strings.Cut(u.User.String(), ":")
		s.add(raw)
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		if !secretName(name) {
			continue
		}
		s.add(raw)
		if plain, err := url.QueryUnescape(raw); err == nil {
			s.add(plain)
		}
	}
}

// secretName says whether the value under a name of a variable or a header
// should be taken for a secret.
func secretName(name string) bool {
	if plainVariable(name) {
		return false
	}
	upper := strings.NewReplacer("AUTHORIZ", "AUTH", "AUTHOR", "", "KEYBOARD", "", "KEYWORD", "").
		Replace(strings.ToUpper(name))
	for _, part := range []string{
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "AUTH",
		"CREDENTIAL", "CREDS", "COOKIE", "PRIVATE", "BEARER", "JWT",
	} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	words := strings.FieldsFunc(upper, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "PASS" || w == "PAT" || w == "PWD" || w == "DSN"
	})
}

// plainVariable names variables whose values are everywhere and no secret:
// redacting one of them would make every path unreadable.
func plainVariable(name string) bool {
	switch name {
	case "HOME", "PATH", "USER", "LOGNAME", "USERNAME", "SHELL", "PWD", "OLDPWD", "HOSTNAME",
		"TMPDIR", "TMP", "TEMP", "LANG", "TERM", "TZ", "SSH_AUTH_SOCK", "XAUTHORITY":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}
