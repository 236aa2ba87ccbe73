package standard_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/permission"
	"github.com/usher-mcp/usher/standard"
)

// TestMain lets the test binary be a server too.
func TestMain(m *testing.M) {
	if behaviour := os.Getenv("STANDARD_TEST_SERVER"); behaviour != "" {
		serve(behaviour)
		return
	}
	goleak.VerifyTestMain(m)
}

// home is where one host's files lie.
type home struct {
	dir, config, data string
	log               *[]*journal.Journal // of the hosts that were opened here
}

func newHome(t *testing.T) home {
	t.Helper()
	dir := t.TempDir()
	return home{dir, filepath.Join(dir, "mcp.config.json"), filepath.Join(dir, "data"), new([]*journal.Journal)}
}

// write writes the configuration. PROGRAM stands for one that behaves as its variable STANDARD_TEST_SERVER says,
// TALKS for an entry of one that answers.
func (h home) write(t *testing.T, text string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(exe)
	text = strings.ReplaceAll(text, "TALKS", `{"command": PROGRAM, "env": {"STANDARD_TEST_SERVER": "talks"}}`)
	if err := os.WriteFile(h.config, []byte(strings.ReplaceAll(text, "PROGRAM", string(quoted))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens a host and a session in it, and waits for its servers.
func (h home) open(t *testing.T, o standard.Options) (*standard.Host, *usher.Session) {
	t.Helper()
	o.ConfigPath, o.DataDir, o.Dir = h.config, h.data, h.dir
	host, err := standard.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	*h.log = append(*h.log, host.Journal)
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	host.Ready(ctx)
	session := usher.SessionOptions{Client: "test"}
	if o.Asker == nil {
		session.AskWait = -1
	}
	s, err := host.Session(session)
	if err != nil {
		t.Fatal(err)
	}
	return host, s
}

// effect is what would happen to a call of a tool; Deny also where the session can't see it.
func effect(s *usher.Session, tool string) permission.Effect {
	for _, t := range s.Tools() {
		if t.Name == tool {
			return t.Effect
		}
	}
	return permission.Deny
}

// eventually waits for what follows from a file that changed. It is looked at each second.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it never happens: ", what)
		}
	}
}

// events returns the data of all events of a type.
func (h home) events(t *testing.T, kind string) (data []string) {
	t.Helper()
	for _, j := range *h.log {
		if err := j.Flush(); err != nil && !errors.Is(err, journal.ErrClosed) {
			t.Fatal(err)
		}
	}
	for e, err := range journal.Read(filepath.Join(h.data, "journal"), journal.Filter{Type: kind}) {
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, string(e.Data))
	}
	return data
}

// G6: a rule that another terminal writes takes effect while the host runs; a broken file doesn't open the door.
func TestPolicyIsReread(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS}}`)
	_, s := h.open(t, standard.Options{})
	if got := effect(s, "mcp.s.say"); got != permission.Ask {
		t.Fatalf("without rules: %v", got)
	}

	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["mcp.s.say"], "deny": ["mcp.s.get"]}}`)
	eventually(t, "the new rules", func() bool {
		return effect(s, "mcp.s.say") == permission.Allow && effect(s, "mcp.s.get") == permission.Deny
	})
	if _, err := s.Call(t.Context(), "mcp.s.say", []byte(`{"text":"x"}`)); err != nil {
		t.Error(err)
	}

	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["*"] "deny": []}}`)
	eventually(t, "config.rejected", func() bool { return len(h.events(t, "config.rejected")) > 0 })
	h.keepsRules(t, s)

	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["mcp.s.get"]}}`)
	eventually(t, "the mended rules", func() bool {
		return effect(s, "mcp.s.say") == permission.Ask && effect(s, "mcp.s.get") == permission.Allow
	})
}

func (h home) keepsRules(t *testing.T, s *usher.Session) {
	t.Helper()
	if say, get := effect(s, "mcp.s.say"), effect(s, "mcp.s.get"); say != permission.Allow || get != permission.Deny {
		t.Errorf("after a broken rewrite: say %v, get %v; want the old rules", say, get)
	}
	rejected := h.events(t, "config.rejected")
	if len(rejected) != 1 || !strings.Contains(rejected[0], h.config) || !strings.Contains(rejected[0], `"message":"`) {
		t.Errorf("config.rejected: %q", rejected)
	}
	if _, err := s.Call(t.Context(), "mcp.s.get", nil); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("a denied call: %v", err)
	}
}

// A file that is gone, be it for the moment in which an editor writes it anew, leaves the old rules in force too.
func TestPolicyOfAFileThatIsGone(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"deny": ["mcp.s.get"]}}`)
	_, s := h.open(t, standard.Options{})
	seen := len(h.events(t, "config.*"))
	if err := os.Remove(h.config); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an event that says so", func() bool { return len(h.events(t, "config.*")) > seen })
	if got := effect(s, "mcp.s.get"); got != permission.Deny {
		t.Errorf("the denied tool: %v", got)
	}
}

// A rule that is written while the host opens counts as well.
func TestPolicyChangedDuringOpen(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS}}`)
	changed := false
	_, s := h.open(t, standard.Options{Clock: func() time.Time {
		if !changed { // the journal is being opened, and the file has been read
			changed = true
			h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"deny": ["mcp.s.get"]}}`)
		}
		return time.Now()
	}})
	eventually(t, "the rule", func() bool { return effect(s, "mcp.s.get") == permission.Deny })
}

// What could not be read may have been a deny, so everything asks.
func TestIncompletePermissionsAsk(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS}, "permissions": {"allow": ["*"], "deny": [7]}}`)
	host, s := h.open(t, standard.Options{})
	if len(host.Problems) != 1 || host.Problems[0].Field != "permissions.deny[0]" {
		t.Errorf("problems %v", host.Problems)
	}
	tools := s.Tools()
	if len(tools) < 5 {
		t.Fatalf("only %d tools", len(tools))
	}
	for _, tool := range tools {
		if tool.Effect != permission.Ask {
			t.Errorf("%s: %v", tool.Name, tool.Effect)
		}
	}
	for _, name := range []string{"mcp.s.get", "local.list_files"} {
		if _, err := s.Call(t.Context(), name, []byte(`{}`)); fault.KindOf(err) != fault.ApprovalRequired {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rejected := h.events(t, "config.rejected"); len(rejected) != 1 || !strings.Contains(rejected[0], "permissions.deny[0]") {
		t.Errorf("config.rejected: %q", rejected)
	}
}

// F4: the answer "always" is a grant in the user's file, whose comments stay.
func TestRemember(t *testing.T) {
	h := newHome(t)
	h.write(t, "{\n  // mine\n  \"mcpServers\": {\"s\": TALKS}\n}\n")
	asked := 0
	asker := permission.AskerFunc(func(context.Context, permission.Question) (permission.Answer, error) {
		asked++
		return permission.Answer{Allow: true, Scope: permission.Always, Via: "test"}, nil
	})
	host, s := h.open(t, standard.Options{Asker: asker})
	for range 2 {
		if _, err := s.Call(t.Context(), "mcp.s.say", []byte(`{"text":"x"}`)); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(h.config)
	if err != nil || !strings.Contains(string(text), "// mine") {
		t.Errorf("%v: %s", err, text)
	}
	c, err := config.Load(h.config, nil)
	if err != nil || len(c.Permissions.Grants) != 1 || c.Permissions.Grants[0].Tool != "mcp.s.say" || c.Permissions.Grants[0].Entry == "" {
		t.Errorf("%v: %v", err, c.Permissions.Grants)
	}
	if granted := h.events(t, "grant.changed"); len(granted) != 1 || !strings.Contains(granted[0], "mcp.s.say") {
		t.Errorf("grant.changed: %q", granted)
	}
	if _, s := h.open(t, standard.Options{}); effect(s, "mcp.s.say") != permission.Allow {
		t.Error("the next host asks again")
	}
}

// A5: an entry without a usable address is listed with the reason, harms no other, and its password is nowhere.
func TestBadURLStaysListed(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"s": TALKS, "web": {"url": "https://me:hunter2-hunter2@example.test/mcp"}}}`)
	host, s := h.open(t, standard.Options{})
	all := host.Servers()
	if len(all) != 2 || all[1].Name != "web" || all[1].State != "unavailable" || all[1].Kind != "http" {
		t.Fatalf("%+v", all)
	}
	if err := all[1].Err; err == nil || !strings.Contains(err.Error(), "send them in an Authorization header") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the reason: %v", err)
	}
	_, err := s.Call(t.Context(), "mcp.web.x", nil)
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.Of(err).Text(fault.English), "Authorization header") {
		t.Errorf("a call: %v", err)
	}
	if _, err := s.Call(t.Context(), "mcp.s.get", nil); err != nil {
		t.Errorf("the other server: %v", err)
	}
}

// What can't be opened says why, and leaves nothing behind.
func TestOpenFails(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": `)
	_, err := standard.Open(t.Context(), standard.Options{ConfigPath: h.config, DataDir: h.data, Dir: h.dir})
	if _, ok := errors.AsType[*config.Problem](err); !ok {
		t.Errorf("a broken file: %v", err)
	}
	h.write(t, `{}`)
	_, err = standard.Open(t.Context(), standard.Options{ConfigPath: h.config, DataDir: h.config, Dir: h.dir})
	if fault.KindOf(err) != fault.LogUnavailable {
		t.Errorf("a data folder that is a file: %v", err)
	}
	_, err = standard.Open(t.Context(), standard.Options{ConfigPath: h.config, DataDir: h.data, Dir: filepath.Join(h.dir, "gone")})
	if err == nil || !strings.Contains(err.Error(), "work in a folder that is there") {
		t.Errorf("a folder that isn't there: %v", err)
	}
}

// A server that is disabled, or that Only leaves out, isn't started.
func TestOnly(t *testing.T) {
	h := newHome(t)
	h.write(t, `{"mcpServers": {"a": TALKS, "b": TALKS, "c": {"command": PROGRAM, "disabled": true}}}`)
	host, _ := h.open(t, standard.Options{Only: func(server string) bool { return server != "b" }})
	if all := host.Servers(); len(all) != 1 || all[0].Name != "a" || all[0].Tools != 2 {
		t.Errorf("%+v", all)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	if err := host.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}
