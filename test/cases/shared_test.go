package cases_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// case-005, case-008, case-011, case-028, case-029, case-031: ten agents at once, with many calls each, are one process for
// each entry, which goes on when they have left.
func TestTenAgentsOneProcess(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": w.entry("a"), "b": w.entry("b")})
	g := w.serve(t)
	var wg sync.WaitGroup
	for i := range 10 {
		a := g.agent(t)
		wg.Go(func() {
			if tools := a.list(t); len(tools) != 10 {
				t.Errorf("agent %d lists %q", i, tools)
			}
			for n := range 10 {
				text := fmt.Sprintf("%d of %d", n, i)
				a.says(t, "mcp__a__echo", text, text)
				a.says(t, "mcp__b__echo", text, text)
			}
			a.leave(t)
		})
	}
	wg.Wait()
	g.agent(t).says(t, "mcp__a__count", "", "1")
	for _, name := range []string{"a", "b"} {
		if n := w.starts(t, name); n != 1 {
			t.Errorf("%s was started %d times", name, n)
		}
	}
	g.stop(t)
}

// case-084, case-020: a session's own server keeps its state for as long as the session lasts, whoever looks, lists, leaves
// or comes meanwhile. case-008, case-010: it ends with the session, with all that it started.
func TestSessionKeepsItsServer(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"browser": with(w.entry("browser", "-deaf", "-brood"), object{"stateful": true})})
	g := w.serve(t)
	a, b := g.agent(t), g.agent(t)
	a.says(t, "mcp__browser__count", "", "1")
	b.says(t, "mcp__browser__count", "", "1")
	a.says(t, "mcp__browser__count", "", "2")
	calls := w.notes(t, "browser", "call")
	of := map[string]int{"a": calls[0].pid, "b": calls[1].pid}
	if of["a"] == of["b"] || calls[2].pid != of["a"] {
		t.Errorf("processes %+v", calls)
	}
	for range 3 {
		g.agent(t).list(t)
	}
	_ = w.status(t, "browser")
	b.leave(t)
	eventually(t, "b's own process has ended", func() bool { return len(w.aliveOf(t, of["b"])) == 0 })
	a.says(t, "mcp__browser__count", "", "3")
	if alive := w.aliveOf(t, of["a"]); len(alive) != 2 {
		t.Errorf("of a's there is %q", alive)
	}
	if n := w.starts(t, "browser"); n != 3 { // one is for the list
		t.Errorf("it was started %d times", n)
	}
	g.stop(t)
}

// aliveOf are a process of the server and its brood, as far as they run.
func (w *world) aliveOf(t *testing.T, pid int) (alive []string) {
	t.Helper()
	ids := []string{fmt.Sprint(pid)}
	for _, n := range w.notes(t, "browser", "brood") {
		if n.pid == pid {
			ids = append(ids, n.detail)
		}
	}
	for _, p := range w.running() {
		for _, id := range ids {
			if strings.HasPrefix(p, id+" ") {
				alive = append(alive, p)
			}
		}
	}
	return alive
}

// perDial is how often a process is started in one attempt: that it ended may be because of the modern era's first message,
// so that it is started once more without (case-069).
const perDial = 2

// case-014: a server that fails is tried as often as one is, however many sessions come.
func TestFailingServerAndManySessions(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"bad": with(w.entry("bad", "-exit", "3"), object{"restart": soon}), "good": w.entry("good")})
	g := w.serve(t)
	for range 10 {
		a := g.agent(t)
		a.list(t)
		if got := a.call(t, "mcp__bad__echo", "x"); got.good() || !strings.Contains(got.text(), "exit status 3") {
			t.Errorf("the bad one: %q", got.text())
		}
		a.says(t, "mcp__good__echo", "x", "x")
	}
	eventually(t, "it is given up", func() bool { return w.status(t, "bad").State == "failed" })
	g.agent(t).call(t, "mcp__bad__echo", "x")
	if n := w.starts(t, "bad"); n != 4*perDial {
		t.Errorf("it was started %d times", n)
	}
	g.stop(t)
}

// case-014: sessions that are to have a process each, where only one can be: the breaker ends the attempts of all.
func TestOneProfileManySessions(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"bad": with(w.entry("bad", "-lock", w.dir+"/profile"), object{"restart": soon, "isolation": "session"})})
	g := w.serve(t)
	g.agent(t).list(t) // the one that has the profile is there
	refused := 0
	for range 10 {
		got := g.agent(t).call(t, "mcp__bad__echo", "x")
		if got.good() {
			t.Errorf("it answered %q", got.text())
		}
		if strings.Contains(got.text(), "will retry in") {
			refused++
		}
	}
	g.stop(t)
	// The breaker opens with the fifth failure, in the fifth session at the latest; then no other begins.
	if n := w.starts(t, "bad"); n > 1+5*4*perDial || refused < 5 {
		t.Errorf("it was started %d times, and %d sessions were refused", n, refused)
	}
}
