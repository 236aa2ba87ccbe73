package cases_test

import (
	"strings"
	"testing"
	"time"
)

// toolsChanged is what an agent is told.
const toolsChanged = "notifications/tools/list_changed"

// case-074: a call that times out is cancelled at its server, whose late answer harms nobody; the session goes on with
// the same process. case-193: it is within two seconds. case-189, case-201: the time is the one that the entry says.
func TestTimeoutCostsOneCall(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": with(w.entry("a"), object{"callTimeout": "500ms"})})
	p := w.stdio(t)
	for i := range 3 {
		begun := time.Now()
		got := <-p.ask(10+i, "tools/call", callParams("mcp__a__wait", "slow"))
		took := time.Since(begun)
		if got.good() || !strings.Contains(got.text(), "for 0.5 s") || took < 500*time.Millisecond || took > 2*time.Second {
			t.Errorf("after %v: %q", took, got.text())
		}
		eventually(t, "the server is told", func() bool { return len(w.notes(t, "a", "cancelled")) == i+1 })
		if late := time.Since(begun); late > 2500*time.Millisecond {
			t.Errorf("it was told after %v", late)
		}
		if got := <-p.ask(20+i, "tools/call", callParams("mcp__a__echo", "next")); got.text() != "next" {
			t.Errorf("the next call: %q", got.text())
		}
	}
	p.close(t)
	if n := w.starts(t, "a"); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

// case-192: what an agent takes back is one call: the others go on, and so does the server. case-193: the server hears of
// it within two seconds. case-195: the agent can go on at once, though the server never answers.
func TestCancelCostsOneCall(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": with(w.entry("a"), object{"callTimeout": "1500ms"})})
	p := w.stdio(t)
	one := p.ask(1, "tools/call", callParams("mcp__a__wait", "mute"))
	two := p.ask(2, "tools/call", callParams("mcp__a__wait", "two"))
	eventually(t, "both are with the server", func() bool { return len(w.notes(t, "a", "call")) == 2 })
	begun := time.Now()
	p.tell("notifications/cancelled", `{"requestId":1,"reason":"ESC"}`)
	eventually(t, "the server is told", func() bool { return len(w.notes(t, "a", "cancelled")) == 1 })
	if got := <-p.ask(3, "tools/call", callParams("mcp__a__echo", "at once")); got.text() != "at once" {
		t.Errorf("the next call: %q", got.text())
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %v", took)
	}
	if told := w.notes(t, "a", "cancelled"); told[0].detail != "mute" {
		t.Errorf("cancelled: %+v", told)
	}
	if got := <-two; !strings.Contains(got.text(), "for 1.5 s") { // until its own time is over
		t.Errorf("the other call ended with %q", got.text())
	}
	select {
	case got := <-one:
		t.Errorf("a call that was taken back is answered: %+v", got)
	default:
	}
	p.close(t)
	if n := w.starts(t, "a"); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

// case-204: a burst of list_changed is one listing, of all pages. case-047: the agent is told, and finds what is new in its
// next list, at the server and in a new session.
func TestListGrows(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": w.entry("a")})
	p := w.stdio(t)
	if got := <-p.ask(1, "tools/list", "{}"); len(got.names()) != 5 {
		t.Fatalf("at first: %q", got.names())
	}
	before, told := len(w.notes(t, "a", "list")), p.heard(toolsChanged)
	<-p.ask(2, "tools/call", callParams("mcp__a__grow", ""))
	eventually(t, "the agent is told", func() bool { return p.heard(toolsChanged) > told })
	eventually(t, "the last page is there", func() bool {
		return len((<-p.ask(3, "tools/list", "{}")).names()) == 8
	})
	if got := <-p.ask(4, "tools/call", callParams("mcp__a__grown_3", "new")); got.text() != "new" {
		t.Errorf("a new tool answered %q", got.text())
	}
	pages := len(w.notes(t, "a", "list")) - before
	if p.close(t); pages > 2*4 { // the first notification may cost a round of its own
		t.Errorf("%d pages were asked for", pages)
	}
}

// case-026: a server that ends with status 0 under three calls was lost: each is told so, the log says how it ended, and it
// is started again. case-087: the agent's session goes on. case-020: nobody else's server is touched.
func TestExitZero(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{"a": with(w.entry("a"), object{"restart": soon}), "b": w.entry("b")})
	g := w.serve(t)
	a := g.agent(t)
	a.says(t, "mcp__b__count", "", "1")
	answers := make(chan answer, 3)
	for range 3 {
		go func() { answers <- a.call(t, "mcp__a__leave", "") }()
	}
	for range 3 {
		if got := <-answers; got.good() || !strings.Contains(got.text(), "exit status 0") {
			t.Errorf("a call of the three: %q", got.text())
		}
	}
	eventually(t, "it answers again", func() bool { return a.call(t, "mcp__a__echo", "again").text() == "again" })
	a.says(t, "mcp__b__count", "", "2")
	if n := w.starts(t, "a"); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	g.stop(t)
	if events := w.run(t, "events", "--json", "--type", "mcp.server.crashed"); strings.Count(events, `"exitCode":0`) != 1 {
		t.Errorf("the log: %s", events)
	}
}
