package http

import (
	"encoding/base64"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
)

func TestEncodeValue(t *testing.T) { // 2026-07-28, "Value encoding"
	for in, want := range map[string]string{
		"search":              "search",
		"a b\tc":              "a b\tc",
		"":                    "",
		"file:///a?b=c#d":     "file:///a?b=c#d",
		"=?base64":            "=?base64",
		"=?BASE64?eA==?=":     "=?BASE64?eA==?=", // markers are case-sensitive
		" a":                  "=?base64?IGE=?=",
		"a ":                  "=?base64?YSA=?=",
		"\ta":                 "=?base64?CWE=?=",
		"a\nb":                "=?base64?YQpi?=",
		"\x7f":                "=?base64?fw==?=",
		"Zürich":              "=?base64?WsO8cmljaA==?=",
		"=?base64?eA==?=":     "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
		"=?base64?=":          "=?base64?PT9iYXNlNjQ/PQ==?=",
		"=?base64?a b?=":      "=?base64?PT9iYXNlNjQ/YSBiPz0=?=",
		"x=?base64?eA==?=":    "x=?base64?eA==?=",
		"=?base64?eA==?=tail": "=?base64?eA==?=tail",
	} {
		if got := encodeValue(in); got != want {
			t.Errorf("encodeValue(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEncodeValue(f *testing.F) {
	f.Add("plain")
	f.Add("=?base64??=")
	f.Add(" \x00ü")
	f.Fuzz(func(t *testing.T, s string) {
		got := encodeValue(s)
		if !dial.IsFieldValue(got) || strings.Trim(got, " \t") != got {
			t.Fatalf("%q can't be a header's value", got)
		}
		if in, ok := strings.CutPrefix(got, encodedPrefix); ok && strings.HasSuffix(in, encodedSuffix) {
			b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(in, encodedSuffix))
			if got = string(b); err != nil {
				t.Fatal(err)
			}
		}
		if got != s {
			t.Fatalf("%q comes back as %q", s, got)
		}
	})
}

func TestMirror(t *testing.T) { // B2
	var head nethttp.Header
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		head = r.Header
		writeAnswer(w, readMessage(r))
	})
	req := call(1)
	req.Mirror = &mcp.Mirror{Revision: "2026-07-28", Method: "tools/call", Name: "sök", Params: []mcp.Param{
		{Name: "Region", Value: "eu west"}, {Name: "x-flag", Value: "true"}, {Name: "Empty"}}}
	// A user's own headers don't replace what the message says.
	c := connect(t, Options{URL: s.URL, Header: nethttp.Header{"mcp-method": {"evil"}, "MCP-Session-ID": {"evil"}, "X-Mine": {"a", "b"}}})
	if _, err := c.Handle(within(t, 5*time.Second), req, mcp.Nobody); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?c8O2aw==?=",
		"Mcp-Param-Region": "eu west", "Mcp-Param-X-Flag": "true", "Mcp-Param-Empty": "", "Mcp-Session-Id": "", "X-Mine": "a,b",
	} {
		if got := strings.Join(head.Values(name), ","); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if _, ok := head["Mcp-Param-Empty"]; !ok {
		t.Error("an empty value was left out")
	}
}

func TestNew(t *testing.T) {
	for name, o := range map[string]Options{
		"no url":        {},
		"not http":      {URL: "ftp://a/"},
		"no host":       {URL: "http:///x"},
		"port only":     {URL: "http://:80/x"},
		"unreadable":    {URL: "http://a/%zzs3cret"},
		"password":      {URL: "https://u:s3cret@a/"},
		"header name":   {URL: "http://a", Header: nethttp.Header{"a b": {"s3cret"}}},
		"header value":  {URL: "http://a", Header: nethttp.Header{"A": {"s3cret\n"}}},
		"resend header": {URL: "http://a", Header: nethttp.Header{"idempotency-key": {"s3cret"}}},
	} {
		_, err := New(o)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}

// The Transport keeps nothing of what it was given, and Host reaches the server.
func TestHeaderIsCopied(t *testing.T) {
	var head nethttp.Header
	var host string
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		head, host = r.Header, r.Host
		writeAnswer(w, readMessage(r))
	})
	given := nethttp.Header{"X-A": {"1"}, "Host": {"inner.example"}}
	c := connect(t, Options{URL: s.URL, Header: given})
	given.Set("X-A", "2")
	if _, err := c.Handle(within(t, 5*time.Second), call(1), mcp.Nobody); err != nil {
		t.Fatal(err)
	}
	if head.Get("X-A") != "1" || host != "inner.example" {
		t.Errorf("X-A = %q, Host = %q", head.Get("X-A"), host)
	}
}
