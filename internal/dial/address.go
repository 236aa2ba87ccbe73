package dial

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// ParseURL reads the address of a server as a user wrote it, with one of schemes and without user and password. No error
// names what it holds, for that may be a key.
func ParseURL(s string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's url can't be read: %w", URLReason(err))
	case u.User != nil:
		return nil, errors.New("the server's url holds a user or password; send them in an Authorization header")
	case !slices.Contains(schemes, u.Scheme):
		return nil, errors.New("the server's url must begin with " + beginnings(schemes))
	}
	return u, nil
}

// ParseWebURL is ParseURL for what is reached by HTTP: it also needs a host, but with the scheme unix, and drops the
// fragment.
func ParseWebURL(s string, schemes ...string) (*url.URL, error) {
	u, err := ParseURL(s, schemes...)
	if err != nil {
		return nil, err
	}
	if u.Hostname() == "" && u.Scheme != "unix" {
		return nil, errors.New("the server's url names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func beginnings(schemes []string) string {
	var all []string
	for _, s := range schemes {
		if s == "unix" {
			s += ":///"
		} else {
			s += "://"
		}
		all = append(all, s)
	}
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// URLReason says why net/url can't read an address, without quoting any of it.
func URLReason(err error) error {
	err = WithoutURL(err)
	if _, ok := errors.AsType[url.InvalidHostError](err); ok {
		return errors.New("invalid character in host name")
	}
	words, _, quoted := strings.Cut(err.Error(), `"`)
	if words = strings.TrimSpace(words); quoted && words == "" {
		words = "it is no URL"
	}
	return errors.New(words)
}

// WithoutURL returns err without the URL that net/url and net/http put into it, for that may hold a key.
func WithoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
