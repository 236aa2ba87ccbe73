package http

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-mcp/usher/internal/dial"
	"github.com/usher-mcp/usher/mcp"
	"github.com/usher-mcp/usher/transport"
	"github.com/usher-mcp/usher/transport/transporttest"
)

// serveSocket runs h on a Unix socket and returns the path of it.
func serveSocket(t *testing.T, name string, h nethttp.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "usher") // t.TempDir may be too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, name)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return path
}

func TestUnixSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, h mcp.Handler) transport.Transport {
		return newTransport(t, Options{URL: "unix://" + serveSocket(t, "s", eventServer(h))})
	})
}

// The path behind the socket and the Host reach the server; no proxy of the environment is asked.
func TestUnix(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://"+unused(t))
	for name, x := range map[string]struct{ socket, url, target, host string }{
		"socket only":      {"a.sock", "unix://PATH", "/", ""},
		"with a path":      {"a.sock", "unix://PATH:/mcp/x%20y?key=1#f", "/mcp/x%20y?key=1", ""},
		"root":             {"a.sock", "unix://PATH:/", "/", ""},
		"colon":            {"a:b.sock", "unix://PATH:/mcp", "/mcp", ""},
		"escaped in it":    {"a b.sock", "unix://DIR/a%20b.sock:/mcp", "/mcp", ""},
		"path with colons": {"a.sock", "unix://PATH:/a:/b", "/a:/b", ""},
		"own host":         {"a.sock", "unix://PATH:/mcp", "/mcp", "inner.example"},
	} {
		var target, host string
		path := serveSocket(t, x.socket, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			target, host = r.RequestURI, r.Host
			writeAnswer(w, readMessage(r))
		})
		url := strings.NewReplacer("PATH", path, "DIR", filepath.Dir(path)).Replace(x.url)
		header := nethttp.Header{}
		want := "localhost"
		if x.host != "" {
			header.Set("Host", x.host)
			want = x.host
		}
		if _, err := connect(t, Options{URL: url, Header: header}).Handle(within(t, 5*time.Second), call(1), mcp.Nobody); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if target != x.target || host != want {
			t.Errorf("%s: %s was asked of %s", name, target, host)
		}
		if got, ok := Socket(url); !ok || got != path {
			t.Errorf("%s: Socket = %q, %v", name, got, ok)
		}
	}
}

func TestUnixNobodyThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s3cret.sock")
	_, err := connect(t, Options{URL: "unix://" + path + ":/mcp?key=s3cret"}).Handle(within(t, 5*time.Second), call(1), mcp.Nobody)
	if !errors.Is(err, transport.ErrNotSent) || strings.Contains(err.Error(), "key") {
		t.Error(err)
	}
}

func TestUnixRefused(t *testing.T) {
	for _, url := range []string{
		"unix:", "unix://", "unix:a.sock", "unix://host/a.sock", "unix://u:s3cret@/a.sock", "unix:///" + strings.Repeat("x", 107),
		"unix:///a%00b", "unix:///a.sock:/%zz",
	} {
		_, err := New(Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40s: %v", url, err)
		}
		if path, ok := Socket(url); ok {
			t.Errorf("%.40s: Socket = %q", url, path)
		}
	}
	if _, ok := Socket("http://localhost/"); ok {
		t.Error("a URL over TCP has a socket")
	}
}

// A client that is given dials the socket itself. One that doesn't reaches nobody, rather than somebody on localhost.
func TestUnixGivenClient(t *testing.T) {
	path := serveSocket(t, "s", func(w nethttp.ResponseWriter, r *nethttp.Request) { writeAnswer(w, readMessage(r)) })
	for _, socket := range []string{path, ""} {
		d, err := dial.New(dial.Options{Socket: socket})
		if err != nil {
			t.Fatal(err)
		}
		client := d.Client()
		defer client.CloseIdleConnections()
		_, err = connect(t, Options{URL: "unix://" + path, Client: client}).Handle(within(t, 20*time.Second), call(1), mcp.Nobody)
		if socket == "" && !errors.Is(err, transport.ErrNotSent) || socket != "" && err != nil {
			t.Errorf("socket %q: %v", socket, err)
		}
	}
}

// Servers redirect to the Host that they read. That is still the socket; another host isn't.
func TestUnixRedirect(t *testing.T) {
	for to, good := range map[string]bool{
		"/mcp/": true, "http://localhost/mcp/": true, "http://localhost:8080/mcp/": false, "http://other.invalid/mcp/": false,
		"https://localhost/mcp/": false,
	} {
		path := serveSocket(t, "s", func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.URL.Path != "/mcp/" {
				nethttp.Redirect(w, r, to, nethttp.StatusTemporaryRedirect)
				return
			}
			if r.Host != "localhost" {
				t.Errorf("Host = %q", r.Host)
			}
			writeAnswer(w, readMessage(r))
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := connect(t, Options{URL: "unix://" + path + ":/mcp"}).Handle(ctx, call(1), mcp.Nobody)
		cancel()
		if (err == nil) != good {
			t.Errorf("%s: %v", to, err)
		}
	}
}
