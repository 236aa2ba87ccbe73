package policy_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"context"
)

// paths are all commands by which a server of the configuration could come to run.
var paths = [][]string{
	{"tools"}, {"tools", "--json"}, {"call", "mcp.x.look"}, {"doctor"}, {"servers"}, {"servers", "restart", "x"}, {"serve", "--listen", "127.0.0.1:0"}, {"stdio"},
	{"stdio", "--only", "x"}, {"allow", "mcp.x.write", "--risk", "read"}, {"permission", "explain", "mcp.x.look"},
}

// G3, bad input: an administrator's file that is there and can't be used stops everything, on each path, and says whose it is to
// repair. The same where it becomes so while usher runs.
// Seen failing with the error of readOnce in managed taken for no file; with refuse keeping the old servers; with check not
// looking at the file (what died within the second was started again); with stampOf blind to a link that leads nowhere.
func TestUnusableManagedFile(t *testing.T) {
	for what, spoil := range map[string]func(t *testing.T, path string){
		"broken":          func(t *testing.T, path string) { put(t, path, `{"deniedServers": [`) },
		"empty":           func(t *testing.T, path string) { put(t, path, "") },
		"misspelt":        func(t *testing.T, path string) { put(t, path, `{"deniedServer": [{"serverName": "x"}]}`) },
		"a folder":        func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) },
		"a pipe":          func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o644)) },
		"a dangling link": func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) },
		"another's":       func(t *testing.T, path string) { put(t, path, `{}`); must(t, os.Chmod(path, 0)) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.configure(t, w.own(object{"permissions": object{"allow": []string{"*"}}}))
			managed := filepath.Join(w.dir, "etc/managed-mcp.json")
			nobody := what == "another's" && os.Geteuid() == 0
			if nobody {
				w.handOver(t)
			}
			d := w.serveAs(t, nobody)
			a := w.agentAs(t, nobody)
			if r := a.do(t, step{URL: d.url, Name: "a"}); r.Failed {
				t.Fatal(r.Text)
			}
			a.passes(t, "mcp__x__look", `{}`)
			started := w.starts(t, "x")
			spoil(t, managed)
			w.kill(t, "x") // the running usher hasn't looked at its files yet, and dials anew
			if r := a.call(t, "mcp__x__look", `{}`); !r.Failed {
				t.Errorf("it was called: %s", r.Text)
			}
			for _, args := range paths {
				r := w.finish(t, func(ctx context.Context) *exec.Cmd { return asNobody(w.command(ctx, args...), nobody) })
				if r.code == 0 && args[0] != "servers" && args[0] != "doctor" { // those show what is
					t.Errorf("usher %q: exit code %d: %s", args, r.code, r.text)
				}
				if !strings.Contains(r.text, "managed-mcp.json") || !strings.Contains(r.text, "policy") {
					t.Errorf("usher %q doesn't say why: %s", args, r.text)
				}
			}
			eventually(t, "the running usher lets go of its server", func() bool { return strings.Contains(d.said(), "no server runs until it is repaired") })
			if r := a.call(t, "mcp__x__look", `{}`); !r.Failed {
				t.Errorf("it was called: %s", r.Text)
			}
			if n := w.starts(t, "x"); n != started {
				t.Errorf("it was started %d times more", n-started)
			}
			must(t, os.RemoveAll(managed))
			eventually(t, "it is back", func() bool { return !a.call(t, "mcp__x__look", `{}`).Failed })
		})
	}
}

// kill ends the process of a server.
func (w *world) kill(t *testing.T, name string) {
	t.Helper()
	killed := 0
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		b, _ := os.ReadFile(line)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil && strings.HasPrefix(string(b), w.puppet+"\x00-journal\x00"+w.journal(name)+"\x00") {
			must(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	if killed != 1 {
		t.Errorf("%d processes of %s were killed", killed, name)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// nobody is a user who owns nothing.
const nobodyID = 65534

// handOver gives the home to nobody, so that who runs usher isn't root, who may read everything.
func (w *world) handOver(t *testing.T) {
	t.Helper()
	must(t, os.Chmod(w.dir, 0o777))
	must(t, filepath.WalkDir(w.home, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobodyID, nobodyID)
	}))
}

func asNobody(cmd *exec.Cmd, is bool) *exec.Cmd {
	if is {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
	}
	return cmd
}

// G3, case-260: one gate for each path: what the administrator denies runs from no source, by no command, under no
// spelling of its address, and not in the place of one that ran before.
// Seen failing with refused passing what the lists deny; with canonicalHost returning its argument: the address was reached.
func TestOneGate(t *testing.T) {
	w := newWorld(t)
	var reached atomic.Int32
	spy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(spy.Close)
	port := spy.URL[strings.LastIndexByte(spy.URL, ':'):]
	denied := func(n string) object {
		return object{"c" + n: object{"command": w.puppet, "args": []string{"-journal", w.journal("denied")}}, "u" + n: object{"url": "http://LocalHost." + port + "/mcp"}}
	}
	w.write(t, "etc/managed-mcp.json", object{"deniedServers": []object{
		{"serverCommand": []string{"puppet", "-journal", w.journal("denied")}}, {"serverUrl": "http://localhost/*"}, {"serverUrl": "http://*.LOCALHOST/*"}, {"serverUrl": "http://127.0.0.1/*"},
	}})
	user := denied("user")
	for i, address := range []string{"http://localhost", "HTTP://LOCALHOST", "http://localhost.", "http://127.0.0.1", "http://127.1", "http://0x7f000001", "http://user@localhost", "http://[::ffff:127.0.0.1]", "http://a.localhost", "http://ｌocalhost"} {
		user["a"+string(rune('0'+i))] = object{"url": address + port + "/mcp"}
	}
	user["x"] = w.entry("x")
	local := denied("local")
	w.configure(t, object{"mcpServers": user, "projects": object{w.repo: object{"mcpServers": local}}})
	w.write(t, filepath.Join(filepath.Dir(w.config), "imported.json"), object{"mcpServers": denied("imported")})
	w.write(t, "repo/.mcp.json", object{"mcpServers": denied("project")})
	w.trust(t, w.repo)
	w.write(t, "line.json", object{"mcpServers": denied("file")})
	line := `{"mcpServers": {"cline": {"command": "` + w.puppet + `", "args": ["-journal", "` + w.journal("denied") + `"]}, "uline": {"url": "http://LOCALHOST` + port + `"}}}`
	flags := []string{"--mcp-config", line, "--mcp-config", filepath.Join(w.dir, "line.json")}
	for _, more := range [][]string{nil, {"--strict-mcp-config"}} {
		given := append(flags, more...)
		for _, args := range [][]string{{"tools"}, {"doctor"}, {"servers"}, {"call", "mcp.cuser.look"}, {"call", "mcp.cline.look"}, {"call", "mcp.uline.look"}, {"servers", "restart", "cuser"}} {
			_ = w.run(t, append(given, args...)...)
		}
	}
	a := w.serve(t, flags...).connected(t, "a")
	a.passes(t, "mcp__x__look", `{}`)
	for _, name := range []string{"cuser", "clocal", "cimported", "cproject", "cfile", "cline"} {
		if r := a.call(t, "mcp__"+name+"__look", `{}`); !r.Failed {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	w.neverStarted(t, "all paths", "denied")
	if n := reached.Load(); n > 0 {
		t.Errorf("the denied address was reached %d times", n)
	}
	contains(t, w.works(t, "config", "show"), "it is on the list of denied servers")
}

// case-260: what is denied while it runs ends, and doesn't come back: not by a restart, a call, or when it dies.
// Seen failing with changed looking only at the user's file: it went on.
func TestDeniedWhileItRuns(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	a := w.serve(t).connected(t, "a")
	a.passes(t, "mcp__x__look", `{}`)
	w.write(t, "etc/managed-mcp.json", object{"deniedServers": []object{{"serverName": "x"}}})
	eventually(t, "it is let go of", func() bool { return a.call(t, "mcp__x__look", `{}`).Failed })
	eventually(t, "its process ends", func() bool {
		for _, c := range w.running() {
			if strings.Contains(c, w.journal("x")) {
				return false
			}
		}
		return true
	})
	started := w.starts(t, "x")
	_ = w.run(t, "servers", "restart", "x")
	_ = w.run(t, "servers", "enable", "x")
	_ = a.call(t, "mcp__x__look", `{}`)
	if n := w.starts(t, "x"); n != started {
		t.Errorf("it was started %d times more", n-started)
	}
}

// case-267: where a list tells commands or addresses, a name is none: what a server is decides. case-261: an entry that
// can't be read fails closed for itself: the rest of its list counts.
// Seen failing with decide letting names count beside commands, and with list giving up at the first bad entry.
func TestPolicyByIdentity(t *testing.T) {
	for what, c := range map[string]struct {
		policy  func(w *world) object
		y, z, r bool // may run
	}{
		"command": {func(w *world) object {
			return object{"allowedServers": []object{{"serverName": "y"}, {"serverCommand": []string{w.puppet, "-journal", w.journal("z")}}, {"serverUrl": "https://corp.example/*"}}}
		}, false, true, false},
		"bad allow": {func(w *world) object {
			return object{"allowedServers": []any{7, object{"serverCommand": "oops"}, object{"serverName": "z", "serverUrl": "*"}, object{"serverCommand": []string{w.puppet, "-journal", w.journal("y")}}}}
		}, true, false, false},
		"bad deny": {func(w *world) object {
			return object{"deniedServers": []any{object{"serverUrl": 5}, object{}, object{"serverName": "y"}, "x", object{"serverCommand": []string{"puppet", "-journal", w.journal("z")}}}}
		}, false, false, true},
		"no list":      {func(*world) object { return object{"allowedServers": []any{}} }, false, false, false},
		"unset list":   {func(*world) object { return object{} }, true, true, true},
		"a broken one": {func(*world) object { return object{"allowedServers": "all"} }, false, false, false},
		"a broken no":  {func(*world) object { return object{"deniedServers": "none"} }, false, false, false},
		"exclusive":    {func(*world) object { return object{"mcpServers": object{}} }, false, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			var reached atomic.Int32
			spy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
			t.Cleanup(spy.Close)
			address, err := url.Parse(spy.URL)
			must(t, err)
			w.configure(t, object{"mcpServers": object{"y": w.entry("y"), "z": w.entry("z"), "r": object{"url": address.String()}}})
			w.write(t, "etc/managed-mcp.json", c.policy(w))
			_ = w.run(t, "tools")
			for name, want := range map[string]bool{"y": c.y, "z": c.z} {
				if got := w.starts(t, name) > 0; got != want {
					t.Errorf("%s ran: %v", name, got)
				}
			}
			if got := reached.Load() > 0; got != c.r {
				t.Errorf("the address was reached: %v", got)
			}
		})
	}
}
