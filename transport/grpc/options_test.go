package grpc

import (
	"crypto/tls"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	t.Parallel()
	secret := map[string][]string{"Authorization": {"Bearer sesame-opens"}}
	header := func(name, value string) Options {
		return Options{URL: "grpcs://h:1", Header: map[string][]string{name: {value}}}
	}
	for name, c := range map[string]struct {
		o    Options
		want string // part of the error; empty: none
	}{
		"plaintext":              {Options{URL: "grpc://example.com:50051"}, ""},
		"TLS":                    {Options{URL: "grpcs://[2001:db8::1]:443/", TLS: &tls.Config{}}, ""},
		"socket":                 {Options{URL: "unix:///run/a%20b.sock", Header: secret}, ""},
		"header over TLS":        {Options{URL: "grpcs://example.com:443", Header: secret}, ""},
		"header to loopback":     {Options{URL: "grpc://127.0.0.1:1", Header: secret}, ""},
		"header to loopback 6":   {Options{URL: "grpc://[::1]:1", Header: secret}, ""},
		"header to localhost":    {Options{URL: "grpc://localhost:1", Header: secret}, ""},
		"header allowed":         {Options{URL: "grpc://example.com:1", Header: secret, PlaintextHeader: true}, ""},
		"header in plaintext":    {Options{URL: "grpc://example.com:1", Header: secret}, "unencrypted"},
		"header to 127.evil":     {Options{URL: "grpc://127.0.0.1.example.com:1", Header: secret}, "unencrypted"},
		"TLS for plaintext":      {Options{URL: "grpc://example.com:1", TLS: &tls.Config{}}, "grpcs://"},
		"no URL":                 {Options{}, "must begin with"},
		"other scheme":           {Options{URL: "https://example.com:443"}, "must begin with"},
		"other resolver":         {Options{URL: "xds:///service"}, "must begin with"},
		"no port":                {Options{URL: "grpcs://example.com"}, "a port"},
		"no host":                {Options{URL: "grpcs://:443"}, "a host"},
		"path":                   {Options{URL: "grpcs://example.com:443/mcp"}, "a path"},
		"query":                  {Options{URL: "grpcs://example.com:443?key=sesame-opens"}, "query"},
		"user":                   {Options{URL: "grpcs://u:sesame-opens@example.com:443"}, "Authorization"},
		"unreadable":             {Options{URL: "grpcs://sesame-opens:x"}, "can't be read"},
		"relative socket":        {Options{URL: "unix://run/x.sock"}, "absolute"},
		"socket without slashes": {Options{URL: "unix:x.sock"}, "absolute"},
		"name":                   {header("a b", "sesame-opens"), "isn't one"},
		"gRPC's name":            {header("Grpc-Timeout", "sesame-opens"), "own"},
		"HTTP's name":            {header("Te", "sesame-opens"), "own"},
		"binary":                 {header("X-bin", "sesame-opens"), "base64"},
		"line break":             {header("X", "sesame-opens\r\nY: z"), "visible ASCII"},
		"umlaut":                 {header("X", "sesame-opens ü"), "visible ASCII"},
		"space at the end":       {header("X", "sesame-opens "), "visible ASCII"},
	} {
		_, err := New(c.o)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "sesame"):
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}
