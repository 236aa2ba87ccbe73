package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/standard"
)

// A server on the command line becomes the entry that a person would write; of secrets only names come out.
func TestAddition(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n       addition
		want    entry
		literal []string
	}{
		{addition{command: []string{"npx", "-y", "x"}}, entry{Command: "npx", Args: []string{"-y", "x"}}, nil},
		{addition{command: []string{"./run"}, cwd: "sub"}, entry{Command: filepath.Join(here, "run"), Args: []string{}, Cwd: filepath.Join(here, "sub")}, nil},
		{addition{command: []string{"~/run"}, cwd: "${D}/x"}, entry{Command: "~/run", Args: []string{}, Cwd: "${D}/x"}, nil},
		{addition{command: []string{"x"}, env: []string{"A=b=c", "API_KEY", "MY_TOKEN=t"}},
			entry{Command: "x", Args: []string{}, Env: map[string]string{"A": "b=c", "API_KEY": "${API_KEY}", "MY_TOKEN": "t"}}, []string{"--env MY_TOKEN"}},
		{addition{command: []string{"x", "--api-key", "k", "--token=t", "--token=${T}", "--key", "-v"}},
			entry{Command: "x", Args: []string{"--api-key", "k", "--token=t", "--token=${T}", "--key", "-v"}}, []string{"argument 2", "argument 3"}},
		{addition{url: "https://x.example", kind: "sse", headers: []string{"Authorization: Bearer t", "X-A=b:c"}},
			entry{URL: "https://x.example", Type: "sse", Headers: map[string]string{"Authorization": "Bearer t", "X-A": "b:c"}}, []string{"--header Authorization"}},
	} {
		got, literal, err := c.n.entry()
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Env) == 0 {
			got.Env = nil
		}
		if len(got.Headers) == 0 {
			got.Headers = nil
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(c.literal, literal); d != "" {
			t.Error(d)
		}
	}
}

// The table has only columns that say something, and what goes wrong is on a line of its own.
func TestServerTable(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	now := time.Now()
	a := &app{out: &terminal{File: out}}
	o := &overview{Running: true}
	o.Servers = []admin.Server{
		{Name: "jira", State: "up", Transport: "stdio", Era: "modern", Tools: 12, Restarts: 3, Breaker: "closed", Since: now.Add(-3 * time.Hour), Pool: &admin.Pool{Size: 2, Busy: 1, Max: 8}},
		{Name: "web", State: "unavailable", Transport: "http", Breaker: "open", Cached: true, Tools: 4, LastError: &admin.Failure{Kind: "timeout", Message: "it didn't answer within 10 s"}},
		{Name: "fs", State: "restarting", Transport: "stdio", NextTry: now.Add(9500 * time.Millisecond), LastError: &admin.Failure{Kind: "mcp_server_unavailable", Message: "exit\x1b[31m status 1", Hint: "Call again."}},
	}
	o.local = &config.Config{Servers: []config.Server{{Name: "web"}}}
	a.serverTable(o)
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := `NAME  STATE        TRANSPORT  ERA     TOOLS     RESTARTS  BREAKER  POOL  UPTIME
jira  up           stdio      modern  12        3                  1/8   3 h
web   unavailable  http               4 cached            open
    no answer within 10 s, its startTimeout
fs    restarting   stdio
    exit\x1b[31m status 1; next try in 10 s
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min", 90 * time.Minute: "1 h", 47 * time.Hour: "47 h", 50 * time.Hour: "2 d",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s: %q", d, got)
		}
	}
}

// A second usher on a data folder, or one whose folder isn't safe, serves its tools all the same and says what it lacks.
func TestWithoutAdmin(t *testing.T) {
	dir := t.TempDir()
	first, h := &watcher{}, &standard.Host{Host: new(usher.Host)}
	a := &app{dataDir: dir}
	defer a.openAdmin(h, first)()
	second := &watcher{}
	a.openAdmin(h, second)()
	if len(first.early) != 0 || len(second.early) != 1 || !strings.Contains(second.early[0], "another usher serves this data folder") {
		t.Errorf("%q %q", first.early, second.early)
	}
	client, err := admin.Dial(context.Background(), dir)
	if err != nil {
		t.Fatal("the first one lost its socket: ", err)
	}
	client.Close()
	unsafe := &watcher{}
	a.dataDir = t.TempDir()
	if err := os.Mkdir(filepath.Join(a.dataDir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(a.dataDir, "run"), 0o770); err != nil {
		t.Fatal(err)
	}
	a.openAdmin(h, unsafe)()
	if len(unsafe.early) != 1 || !strings.Contains(unsafe.early[0], "chmod 700") {
		t.Errorf("%q", unsafe.early)
	}
}

// What the running usher couldn't do is told in its words, not as a call that failed.
func TestFailureOfTheAPI(t *testing.T) {
	f := explain(apiFailure(&fault.Error{Kind: fault.Internal, Detail: "can't lock the config: open x.lock: permission denied"}))
	if f.code != fault.ExitConfig || !strings.HasPrefix(f.text, "can't lock the config: ") {
		t.Errorf("%+v", f)
	}
}
