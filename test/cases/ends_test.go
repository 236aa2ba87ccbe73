package cases_test

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// stubborn is a server that ends on nothing but SIGKILL, with a process that has left its group and session, behind a
// command that starts it as npx and uvx do.
func (w *world) stubborn(name string, flags ...string) object {
	e := w.entry(name, append(flags, "-deaf", "-brood")...)
	return with(e, object{"command": "sh", "args": append([]string{"-c", `"$@"; true`, "sh", e["command"].(string)}, e["args"].([]string)...)})
}

// case-001, case-002, case-010, case-016, case-023, case-025: however usher serve ends, all that its servers are ends too,
// and those that are told at all are told by the end of their input. case-086: the next usher offers the tools again.
func TestNothingOutlivesServe(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{
		"Ctrl-C": syscall.SIGINT, "terminated": syscall.SIGTERM, "the terminal is closed": syscall.SIGHUP, "killed": syscall.SIGKILL,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.configure(t, object{"a": w.stubborn("a"), "b": w.entry("b")})
			g := w.serve(t)
			a := g.agent(t)
			if tools := a.list(t); len(tools) != 10 {
				t.Errorf("it lists %q", tools)
			}
			a.says(t, "mcp__a__echo", "x", "x")
			if n := len(w.notes(t, "a", "brood")); n != 1 {
				t.Fatalf("%d broods", n)
			}
			begun := time.Now()
			g.end(t, signal)
			w.noneLeft(t)
			if took := time.Since(begun); took > 4*time.Second {
				t.Errorf("it took %v", took)
			}
			if signal != syscall.SIGKILL && len(w.notes(t, "a", "eof")) != 1 {
				t.Error("the server's input was not closed")
			}
			g = w.serve(t)
			a = g.agent(t)
			if tools := a.list(t); len(tools) != 10 {
				t.Errorf("the next usher lists %q", tools)
			}
			a.says(t, "mcp__a__echo", "y", "y")
			g.stop(t)
		})
	}
}

// case-001, case-002: the same of usher stdio, at the end of its input too.
func TestNothingOutlivesStdio(t *testing.T) {
	for name, end := range map[string]func(*piped, *testing.T){
		"end of input": (*piped).close,
		"terminal":     func(p *piped, t *testing.T) { p.end(t, syscall.SIGHUP) },
		"killed":       func(p *piped, t *testing.T) { p.end(t, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.configure(t, object{"a": w.stubborn("a")})
			p := w.stdio(t)
			if got := <-p.ask(1, "tools/call", callParams("mcp__a__echo", "x")); got.text() != "x" {
				t.Errorf("it answered %q", got.text())
			}
			end(p, t)
			w.noneLeft(t)
		})
	}
}

// case-023: a server that is still being connected to doesn't hold up the end.
func TestStopWhileConnecting(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w.configure(t, object{"slow": w.stubborn("slow", "-greet", "1h"), "far": object{"url": "http://" + l.Addr().String()}})
	g := w.serve(t)
	eventually(t, "it is being asked", func() bool { return len(w.notes(t, "slow", "initialize")) == 1 })
	begun := time.Now()
	g.stop(t)
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

// case-007, case-023: an entry that is changed or deleted while usher runs takes its process along, with all that this one
// started. case-089: what is added joins the list.
func TestEntriesChange(t *testing.T) {
	w := newWorld(t)
	stays := w.entry("stays")
	w.configure(t, object{"stays": stays, "x": w.stubborn("x", "-greet", "1ms")})
	g := w.serve(t)
	a := g.agent(t)
	if tools := a.list(t); len(tools) != 10 {
		t.Fatalf("at first it lists %q", tools)
	}
	w.configure(t, object{"stays": stays, "x": w.stubborn("x", "-greet", "2ms")})
	eventually(t, "the changed entry runs", func() bool { return w.starts(t, "x") == 2 })
	w.noneLeft(t, w.journal("x"), "-greet 1ms")
	w.configure(t, object{"stays": stays, "x": w.stubborn("x", "-greet", "2ms"), "new": w.entry("new")})
	eventually(t, "the list has three servers", func() bool { return len(a.list(t)) == 15 })
	w.configure(t, object{"stays": stays, "new": w.entry("new")})
	eventually(t, "the list has two servers", func() bool { return len(a.list(t)) == 10 })
	w.noneLeft(t, w.journal("x"))
	w.noneLeft(t, "sleep 3600")
	a.says(t, "mcp__stays__count", "", "1")
	if x, s := w.starts(t, "x"), w.starts(t, "stays"); x != 2 || s != 1 {
		t.Errorf("x was started %d times, what stays %d times", x, s)
	}
	g.stop(t)
}

// case-017: a result that was delivered is not lost to a server that then won't end, nor waits for it for long.
func TestResultOfOneThatWontEnd(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": w.stubborn("a")})
	begun := time.Now()
	if out := w.run(t, "call", "mcp.a.echo", "text=delivered"); out != "delivered\n" {
		t.Errorf("it printed %q", out)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	w.noneLeft(t)
}
