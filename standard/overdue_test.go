package standard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/internal/store/sqlite"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// G3, bad input: who breaks another file keeps nothing alive that the administrator has forbidden meanwhile, and what is
// repaired counts again.
func TestManagedFileCountsBesideABrokenOne(t *testing.T) {
	h, n := newHome(t), new(notices)
	managed := filepath.Join(h.dir, "managed.json")
	const text = `{"mcpServers": {"s": TALKS, "t": TALKS}, "permissions": {"allow": ["mcp.*"]}}`
	h.write(t, text)
	host, s := h.open(t, standard.Options{Managed: managed, Notice: n.tell})
	if got := effect(s, "mcp.s.say"); got != permission.Allow {
		t.Fatal(got)
	}
	if err := os.WriteFile(h.config, []byte("{ broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(managed, []byte(`{"deniedServers": [{"serverName": "s"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := host.Reload(); err == nil {
		t.Error("no error")
	}
	if got := len(host.Config().Servers); got != 0 {
		t.Errorf("%d servers", got)
	}
	if d := host.Rules().Decide(permission.Call{Target: permission.Target{Tool: "read_file"}, Builtin: true, Risk: permission.Read}); d.Effect != permission.Deny {
		t.Errorf("%+v", d)
	}
	if got := strings.Join(n.take(), "|"); !strings.Contains(got, "no server runs until it is repaired") {
		t.Error(got)
	}
	if err := os.WriteFile(h.config, []byte("{ broken otherwise"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = host.Reload()
	if got := len(host.Config().Servers); got != 0 {
		t.Errorf("%d servers", got)
	}
	h.write(t, text)
	if err := host.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := host.Config().Servers; len(got) != 1 || got[0].Name != "t" {
		t.Errorf("%+v", got)
	}
}

// G6: a file is read again though it is as long as before, in place, and says that it is as old.
func TestReloadInSpiteOfTimes(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"permissions": {"deny": ["mcp.a.x"]}}`)
	info, err := os.Stat(h.config)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := h.open(t, standard.Options{})
	h.write(t, `{"permissions": {"deny": ["mcp.b.x"]}}`)
	if err := os.Chtimes(h.config, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := host.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := host.Config().Permissions.Deny[0].Pattern; got != "mcp.b.x" {
		t.Error(got)
	}
}

// G6: trust in another folder's entries changes nothing here.
func TestNoReloadWithoutAChange(t *testing.T) {
	h := newHome(t)
	h.write(t, `{}`)
	host, _ := h.open(t, standard.Options{})
	before := host.Config()
	if err := host.Ledger.Trust(t.Context(), sqlite.Trust{Key: standard.TrustKey("/x", "y", "z"), Folder: "/x", Name: "y", By: "a person"}); err != nil {
		t.Fatal(err)
	}
	if err := host.Reload(); err != nil {
		t.Fatal(err)
	}
	if host.Config() != before {
		t.Error("it was read again")
	}
}
