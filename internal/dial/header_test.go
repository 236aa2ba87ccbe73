package dial

import (
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func none(string) bool { return false }

// O2: what a user writes as headers goes out as it is, but for what isn't theirs to say.
func TestHeader(t *testing.T) {
	given := nethttp.Header{
		"x-a": {"1", "2"}, "X-A": {"3"}, "host": {"inner.example"}, "Connection": {"close"}, "transfer-ENCODING": {"x"},
		"Accept": {"*/*"}, "X-Tab": {"a\tb ü"},
	}
	got, host, err := Header(given, func(name string) bool { return name == "Accept" })
	if err != nil || host != "inner.example" || len(got["X-A"]) != 3 {
		t.Fatalf("got %v, host %q, %v", got, host, err)
	}
	delete(got, "X-A") // whose order is open: it came in two spellings
	if want := (nethttp.Header{"X-Tab": {"a\tb ü"}, "User-Agent": {"usher"}}); !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got.Set("X-Tab", "changed")
	if given.Get("X-Tab") != "a\tb ü" {
		t.Error("the given headers were changed")
	}
	if got, _, _ := Header(nethttp.Header{"user-agent": {"mine"}}, none); got.Get("User-Agent") != "mine" {
		t.Errorf("got %v", got)
	}
}

// G4: no value is told.
func TestHeaderRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"": "x", "a b": "s3cret", "a:": "s3cret", "a\n": "s3cret", "ä": "s3cret", "a(b)": "s3cret",
		"X-Line": "s3cret\r\nX: y", "X-Nul": "s3cret\x00", "X-Del": "s3cret\x7f",
		"idempotency-key": "s3cret", "X-IDEMPOTENCY-key": "s3cret",
	} {
		if _, _, err := Header(nethttp.Header{name: {value}}, none); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// G4: no part of a URL that can't be used is told.
func TestParseURLRefuses(t *testing.T) {
	for in, words := range map[string]string{
		"":                           "must begin with https://, http:// or unix:///",
		"ftp://a.example/":           "must begin with",
		"a.example":                  "must begin with",
		"http:///x":                  "names no host",
		"http://:80/x":               "names no host",
		"https://u:s3cret@a.example": "user or password",
		"https://s3cret@a.example":   "user or password",
		"unix://s3cret@/run/x.sock":  "user or password",
		"https://a/%s3cret":          "can't be read: invalid URL escape",
		"https://s3cret:s3cret":      "can't be read: invalid port",
		"https://a s3cret/":          "can't be read: invalid character in host name",
		"https://a/\ns3cret":         "can't be read: net/url: invalid control character in URL",
		"https://[s3cret/":           "can't be read: missing ']' in host",
		"https://[s3cret]/":          "can't be read",
		":s3cret":                    "can't be read: missing protocol scheme",
	} {
		_, err := ParseWebURL(in, "https", "http", "unix")
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "s3c") {
			t.Errorf("%q: %v, want %q", in, err, words)
		}
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"HTTPS://a.example/x?k=v#part": "https://a.example/x?k=v", "http://[::1]:80": "http://[::1]:80", "unix:///run/x.sock:/mcp": "unix:///run/x.sock:/mcp",
	} {
		if u, err := ParseWebURL(in, "https", "http", "unix"); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v", in, u, err)
		}
	}
	if u, err := ParseURL("grpc://a:1/#x", "grpc"); err != nil || u.Fragment != "x" {
		t.Errorf("%v, %v", u, err)
	}
}
