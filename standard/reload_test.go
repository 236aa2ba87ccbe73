package standard_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// notices are what a host told of its configuration.
type notices struct {
	mu  sync.Mutex
	all []string
}

func (n *notices) tell(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

// take returns what came since the last time.
func (n *notices) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.all
	n.all = nil
	return all
}

// C9: what is told of a change is what changed, and nothing else, also where lines move under the rules and calls are
// decided meanwhile.
func TestReloadTellsWhatChanged(t *testing.T) {
	h, n := newHome(t), new(notices)
	const rules = `, "permissions": {"allow": ["mcp.s.say"], "risk": {"mcp.s.get": "read"}}}`
	h.write(t, `{"mcpServers": {"s": TALKS}`+rules)
	host, s := h.open(t, standard.Options{Notice: n.tell})
	stop, calls := make(chan struct{}), sync.WaitGroup{}
	calls.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = effect(s, "mcp.s.say")
			}
		}
	})
	defer calls.Wait()
	defer close(stop)
	for _, c := range []struct{ what, servers, want string }{
		{"added", `{"mcpServers": {"s": TALKS,` + "\n" + `"b": TALKS}`, "started: b"},
		{"disabled", `{"mcpServers": {"s": TALKS,` + "\n" + `"b": {"command": "x", "disabled": true}}`, "disabled: b"},
		{"nothing", `{"mcpServers":` + "\n\n" + `{"s": TALKS}`, ""},
		{"a number", `{"defaults": {"callTimeout": "9s"}, "mcpServers": {"s": TALKS}`, "changed, and started anew: s"},
	} {
		h.write(t, c.servers+rules)
		if err := host.Reload(); err != nil {
			t.Error(c.what, err)
		}
		if got := strings.Join(n.take(), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// A file that can't be read changes nothing, which is told, and so is that it can be read again.
func TestReloadOfABrokenFile(t *testing.T) {
	h, n := newHome(t), new(notices)
	const text = `{"mcpServers": {"s": TALKS}, "permissions": {"deny": ["mcp.s.get"]}}`
	h.write(t, text)
	host, s := h.open(t, standard.Options{Notice: n.tell})
	for _, c := range []struct {
		what  string
		spoil func() error
		want  string
	}{
		{"broken", func() error { return os.WriteFile(h.config, []byte(`{ broken`), 0o600) }, "the configuration is broken, the old one"},
		{"empty", func() error { return os.Truncate(h.config, 0) }, "the configuration is broken, the old one"},
		{"gone", func() error { return os.Remove(h.config) }, "the configuration can't be read, the old one"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		_ = host.Reload() // the error is the one that is told
		if got := n.take(); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q", c.what, got)
		}
		if got := effect(s, "mcp.s.get"); got != permission.Deny {
			t.Errorf("%s: a denied tool: %v", c.what, got)
		}
		h.write(t, text)
		if err := host.Reload(); err != nil {
			t.Error(err)
		}
		if got := n.take(); !slices.Equal(got, []string{"the rules of " + h.config + " are in force now"}) {
			t.Errorf("after %s: %q", c.what, got)
		}
	}
}

// A file that takes the place of another with the same size and time is another file.
func TestReloadOfAReplacedFile(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["mcp.s.get"]}}`)
	host, s := h.open(t, standard.Options{})
	old, err := os.Stat(h.config)
	if err != nil {
		t.Fatal(err)
	}
	next := h
	next.config += ".new"
	next.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["mcp.s.say"]}}`)
	if err := os.Chtimes(next.config, old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next.config, h.config); err != nil {
		t.Fatal(err)
	}
	if err := host.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := effect(s, "mcp.s.say"); got != permission.Allow {
		t.Errorf("the new rule: %v", got)
	}
}
