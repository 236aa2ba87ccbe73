package standard_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/standard"
)

// B3, B10: an address without a type is tried as http, and then as sse, where the server is that old; one of type http
// is only that.
func TestOldServer(t *testing.T) {
	h := newHome(t)
	old := remote{kind: "sse"}
	l, path := listen(t, "tcp", "127.0.0.1:0"), filepath.Join(h.dir, "s")
	old.start(t, l)
	old.start(t, listen(t, "unix", path))
	for _, url := range []string{"http://" + l.Addr().String(), "unix://" + path} {
		got := used(t, h, standard.Options{}, entry(map[string]any{"url": url, "bearerToken": "tok-12345678"}))
		if !strings.Contains(got.Why, "2024-11-05") {
			t.Errorf("%s: why %q", url, got.Why)
		}
	}
	h.write(t, `{"mcpServers": {"r": `+entry(map[string]any{"type": "http", "url": "http://" + l.Addr().String(), "bearerToken": "tok-12345678"})+`}}`)
	if host, _ := h.open(t, standard.Options{}); host.Servers()[0].State != "unavailable" {
		t.Errorf("of type http: %+v", host.Servers()[0])
	}
}
