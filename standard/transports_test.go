package standard_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/standard"
)

var kinds = []string{"http", "sse", "ws", "grpc"}

// used is one server of the host, after a call of its tool.
func used(t *testing.T, h home, o standard.Options, text string) usher.ServerStatus {
	t.Helper()
	h.write(t, `{"mcpServers": {"r": `+text+`}}`)
	host, s := h.open(t, o)
	all := host.Servers()
	if len(all) != 1 || all[0].State != "up" {
		t.Fatalf("%s\n%+v", text, all)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if res, err := s.Call(ctx, "mcp.r.get", nil); err != nil || res.Text() != "said" {
		t.Errorf("%s: %v", text, err)
	}
	return all[0]
}

// B2–B5, B7, B10: each transport is made from an entry, with its token, in the clear, with mTLS and over a socket.
func TestEachTransport(t *testing.T) {
	scheme := map[string][2]string{"http": {"http", "https"}, "sse": {"http", "https"}, "ws": {"ws", "wss"}, "grpc": {"grpc", "grpcs"}}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			h := newHome(t)
			l := listen(t, "tcp", "127.0.0.1:0")
			remote{kind: kind}.start(t, l)
			e := map[string]any{"url": scheme[kind][0] + "://" + l.Addr().String(), "bearerToken": "tok-12345678"}
			if kind == "sse" {
				e["type"] = kind
			}
			if got := used(t, h, standard.Options{}, entry(e)); got.Kind != kind {
				t.Errorf("kind %s", got.Kind)
			}
		})
		t.Run(kind+" mTLS", func(t *testing.T) {
			h := newHome(t)
			id := newIdentity(t, "both")
			id.write(t, h.dir)
			l := listen(t, "tcp", "127.0.0.1:0")
			remote{kind: kind, tls: id.server(t, id)}.start(t, l)
			used(t, h, standard.Options{}, entry(map[string]any{
				"type": kind, "url": scheme[kind][1] + "://" + l.Addr().String(), "headers": map[string]string{"authorization": bearer},
				"tls": map[string]string{"ca": "cert.pem", "cert": "cert.pem", "key": "key.pem"},
			}))
		})
		t.Run(kind+" socket", func(t *testing.T) {
			h := newHome(t)
			path := filepath.Join(h.dir, "s")
			remote{kind: kind}.start(t, listen(t, "unix", path))
			used(t, h, standard.Options{}, entry(map[string]any{
				"type": kind, "url": "unix://" + path, "bearerToken": "tok-12345678",
			}))
		})
	}
}

// B7: a pair that changed is shown to the server in the next handshake; one that is broken is told, and the old one stays.
func TestCertificateChanges(t *testing.T) {
	h := newHome(t)
	server, first, second := newIdentity(t, "server"), newIdentity(t, "first"), newIdentity(t, "second")
	ca := t.TempDir()
	server.write(t, ca)
	first.write(t, h.dir)
	l := listen(t, "tcp", "127.0.0.1:0")
	remote{kind: "ws", tls: server.server(t, second)}.start(t, l)
	h.write(t, `{"mcpServers": {"r": `+entry(map[string]any{
		"url": "wss://" + l.Addr().String(), "bearerToken": "tok-12345678", "reconnect": false,
		"tls": map[string]string{"ca": filepath.Join(ca, "cert.pem"), "cert": "cert.pem", "key": "key.pem"},
	})+`}}`)
	var mu sync.Mutex
	var told []string
	_, s := h.open(t, standard.Options{Notice: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}})
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Call(ctx, "mcp.r.get", nil)
		return err
	}
	if err := call(); err == nil {
		t.Fatal("the server took a certificate that it doesn't know")
	}
	identity{cert: second.cert, key: []byte("garbage")}.write(t, h.dir)
	if err := call(); err == nil {
		t.Fatal("the old pair was to stay")
	}
	mu.Lock()
	said := slices.ContainsFunc(told, func(s string) bool {
		return strings.HasPrefix(s, "the server r: tls.key: the file "+filepath.Join(h.dir, "key.pem")) && !strings.Contains(s, "garbage")
	})
	mu.Unlock()
	if !said {
		t.Errorf("told: %q", told)
	}
	eventually(t, "the event of it", func() bool {
		got := h.events(t, "config.rejected")
		return len(got) > 0 && strings.Contains(got[0], `"field":"mcpServers.r.tls"`)
	})
	second.write(t, h.dir)
	if err := call(); err != nil {
		t.Errorf("with the new pair: %v", err)
	}
}

// O2: whatever the entry says, nobody's credentials are asked for.
func TestLinkLocalIsRefused(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {
		"grpc": {"url": "grpcs://169.254.169.254:80"}, "http": {"url": "http://169.254.169.254/latest"},
		"sse": {"type": "sse", "url": "http://[::ffff:169.254.169.254]/"}, "ws": {"url": "ws://169.254.169.254/"}}}`)
	host, _ := h.open(t, standard.Options{})
	for _, s := range host.Servers() {
		if !s.Fails() || s.Err == nil || !strings.Contains(s.Err.Error(), "is refused: link-local") {
			t.Errorf("%s: %s %v", s.Name, s.State, s.Err)
		}
	}
}
