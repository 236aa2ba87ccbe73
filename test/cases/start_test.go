package cases_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// case-022: a server that is too slow to start is ended, with all that it started, while usher goes on. case-034: it is,
// before it is started once more. case-051: who asks is told which time it was that ran out, and what to write.
func TestStartTimeout(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{
		"slow": with(w.stubborn("slow", "-greet", "1h"), object{"startTimeout": "600ms", "restart": with(object{"attempts": 1}, soon)}),
		"good": w.entry("good"),
	})
	g := w.serve(t)
	eventually(t, "it is given up", func() bool { return w.status(t, "slow").State == "failed" })
	w.noneLeft(t, w.journal("slow"))
	w.noneLeft(t, "sleep 3600")
	if n := w.starts(t, "slow"); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	if beside := w.notes(t, "slow", "beside"); len(beside) > 0 {
		t.Errorf("started beside an earlier one: %v", beside)
	}
	if raw := w.status(t, "slow").Raw; !strings.Contains(raw, "it didn't answer within 0.6 s") || !strings.Contains(raw, "startTimeout") {
		t.Errorf("what is told: %s", raw)
	}
	g.agent(t).says(t, "mcp__good__echo", "x", "x")
	g.stop(t)
}

// runner writes a command npx that runs the server after a script.
func (w *world) runner(t *testing.T, script string) {
	t.Helper()
	text := "#!/bin/sh\n" + script + "\nexec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(w.dir, "npx"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// packaged is an entry that a package runner starts.
func (w *world) packaged(name string) object {
	e := w.entry(name)
	return with(e, object{"command": "npx", "args": append([]string{w.server}, e["args"].([]string)...)})
}

// case-044: package runners that break because another one uses the same cache at that moment come up all the same.
func TestRunnersThatShareACache(t *testing.T) {
	w := newWorld(t)
	w.runner(t, `mkdir "$HOME/cache" 2>/dev/null || { echo ENOTEMPTY >&2; exit 1; }
sleep 0.1
rmdir "$HOME/cache"`)
	servers := object{}
	for i := range 3 {
		name := fmt.Sprint("s", i)
		servers[name] = with(w.packaged(name), object{"restart": object{"base": "300ms"}})
	}
	w.configure(t, servers)
	g := w.serve(t)
	eventually(t, "all three are up", func() bool {
		for i := range 3 {
			if w.status(t, fmt.Sprint("s", i)).State != "up" {
				return false
			}
		}
		return true
	})
	g.stop(t)
}

// case-041: a package that is being fetched holds up neither the handshake nor the calls of others.
func TestFetchedInTheBackground(t *testing.T) {
	w := newWorld(t)
	w.runner(t, "sleep 3600")
	w.configure(t, object{"fetched": w.packaged("fetched"), "good": w.entry("good")})
	begun := time.Now()
	p := w.stdio(t)
	if got := <-p.ask(1, "tools/call", callParams("mcp__good__echo", "x")); got.text() != "x" {
		t.Errorf("it answered %q", got.text())
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	p.close(t)
}

// case-088: servers that can't be started, end at once, can't be reached or say nonsense cost no agent its handshake, nor
// the tools of the others; which one fails and why is told.
func TestOneBadServer(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	once := object{"restart": false, "reconnect": false}
	w.configure(t, object{
		"missing": object{"command": "no-such-program"},
		"exits":   with(w.entry("exits", "-exit", "3"), once),
		"refuses": with(object{"url": "http://" + closed + "/mcp"}, once),
		"babbles": with(object{"command": "sh", "args": []string{"-c", "echo no JSON; sleep 0.2; exit 4"}}, once),
		"good":    w.entry("good"), "other": w.entry("other"),
	})
	g := w.serve(t)
	a := g.agent(t)
	if tools := a.list(t); len(tools) != 10 {
		t.Errorf("it lists %q", tools)
	}
	a.says(t, "mcp__good__echo", "x", "x")
	a.says(t, "mcp__other__echo", "x", "x")
	for name, why := range map[string]string{
		"missing": "command not found", "exits": "exit status 3", "refuses": "connection refused", "babbles": "exit status 4",
	} {
		if s := w.status(t, name); s.State == "up" || !strings.Contains(s.Raw, why) {
			t.Errorf("%s: %s", name, s.Raw)
		}
	}
	g.stop(t)
}

// case-048: a catalogue that can't be kept on disk costs no server its start, and is told of with its path.
func TestCatalogueThatCantBeKept(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.data, "state.db")
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	servers := object{}
	for i := range 12 {
		servers[fmt.Sprint("s", i)] = w.entry(fmt.Sprint("s", i))
	}
	w.configure(t, servers)
	g := w.serve(t)
	a := g.agent(t)
	if tools := a.list(t); len(tools) != 60 {
		t.Errorf("it lists %d tools", len(tools))
	}
	a.says(t, "mcp__s11__echo", "x", "x")
	g.stop(t)
	if events := w.run(t, "events", "--json", "--type", "mcp.server.log"); !strings.Contains(events, file) {
		t.Errorf("it isn't told: %s", events)
	}
}
