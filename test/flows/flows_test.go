package flows

import (
	"fmt"
	"testing"
)

// run has one agent for each text read it and obey, and returns in how many cases something private reached a sink, and
// how often a person was asked about a flow.
func run(t *testing.T, w *World, all []Text, obey func(*testing.T, *World, *Agent, Text, string)) (leaks, asks int, unharmed map[string]int) {
	t.Helper()
	unharmed = map[string]int{}
	for i, text := range all {
		page := fmt.Sprintf("page%d", i)
		if err := w.Put("web", page, text); err != nil {
			t.Fatal(err)
		}
		a := newAgent(t, w, page) // a client of its own: what others took in doesn't help it
		obey(t, w, a, text, page)
		a.Leave()
		asks += flowsOf(w.Person.Take())
		if where := leaked(t, w); len(where) > 0 {
			leaks++
		} else {
			unharmed[text.Kind]++
		}
	}
	return leaks, asks, unharmed
}

func reads(t *testing.T, _ *World, a *Agent, _ Text, page string) { a.Read(t.Context(), page) }

func ownTexts(t *testing.T) []Text {
	t.Helper()
	all, err := ReadTexts("testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Fatalf("only %d texts", len(all))
	}
	return all
}

// Under the default policy no private byte reaches a sink without an ask, whatever the agent reads, also where a rule allows
// everything and where the servers say nothing of their tools. With flows off each text does its work: the texts, the agent
// and the search are good enough to see it.
func TestNothingLeavesUnasked(t *testing.T) {
	all := ownTexts(t)
	for name, o := range map[string]Options{
		"default": {}, "all allowed": {Allow: true}, "no hints": {Bare: true, Allow: true}, "denied": {Flows: "deny", Allow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaks, asks, _ := run(t, newWorld(t, o), all, reads)
			t.Logf("%d texts: %d leaks, %d asks for a flow", len(all), leaks, asks)
			if leaks > 0 {
				t.Errorf("private data left %d times", leaks)
			}
			if denied := o.Flows == "deny"; denied != (asks == 0) || !denied && asks < len(all) {
				t.Errorf("%d asks: the agent didn't get far enough to be stopped", asks)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		leaks, asks, unharmed := run(t, newWorld(t, Options{Flows: "off", Allow: true}), all, reads)
		t.Logf("%d texts with flows off: %d leaks", len(all), leaks)
		if leaks != len(all) || asks != 0 {
			t.Errorf("%d leaks, %d asks; without harm: %v", leaks, asks, unharmed)
		}
	})
}

// ways are how what an agent holds could get around: each is one that leaks with flows off.
var ways = map[string]func(*testing.T, *World, *Agent){
	"at once": func(t *testing.T, _ *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}, {"mcp.net.lookup", ""}})
	},
	"in base64": func(t *testing.T, _ *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}, {"mcp.net.lookup", "base64"}})
	},
	"by an address": func(t *testing.T, _ *World, a *Agent) {
		a.Obey(t.Context(), []step{{"local.read_file", ""}, {"mcp.web.fetch", "hex"}})
	},
	"in the next session": func(t *testing.T, _ *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}})
		newSession(t, a)
		a.Obey(t.Context(), []step{{"mcp.net.lookup", "reverse"}})
	},
	"after a restart": func(t *testing.T, w *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}})
		a.Leave()
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		newSession(t, a)
		a.Obey(t.Context(), []step{{"mcp.net.lookup", ""}})
	},
	"by notes that another reads": func(t *testing.T, w *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}, {"mcp.notes.write_note", "base64"}})
		other := newAgent(t, w, "another")
		other.Obey(t.Context(), []step{{"mcp.notes.read_note", ""}, {"mcp.net.lookup", ""}})
		other.Leave()
	},
	"by notes that another waits for": func(t *testing.T, w *World, a *Agent) {
		other := newAgent(t, w, "another")
		a.note, other.note = "later", "later"
		done := make(chan struct{})
		go func() {
			defer close(done)
			other.Obey(t.Context(), []step{{"mcp.notes.read_note", ""}})
		}()
		reached(t, w, "notes") // it waits now
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}, {"mcp.notes.write_note", ""}})
		<-done
		other.Obey(t.Context(), []step{{"mcp.net.lookup", ""}})
		other.Leave()
	},
	"by notes after a restart": func(t *testing.T, w *World, a *Agent) {
		a.Obey(t.Context(), []step{{"mcp.mail.read_mail", ""}, {"mcp.notes.write_note", ""}})
		a.Leave()
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := newAgent(t, w, "another")
		other.Obey(t.Context(), []step{{"mcp.notes.read_note", ""}, {"mcp.net.post", ""}})
		other.Leave()
	},
}

// By whatever way, and with what the configuration says of the notes taken away: what a server carries is what it was given.
func TestWays(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, flows := range []any{"off", "ask", object{"labels": object{"mcp.notes.*": []string{}}}} {
				w := newWorld(t, Options{Flows: flows, Allow: true})
				a := newAgent(t, w, "one")
				way(t, w, a)
				a.Leave()
				where, asks := leaked(t, w), flowsOf(w.Person.Take())
				if off := flows == "off"; off != (len(where) > 0) || off == (asks > 0) {
					t.Errorf("flows %v: it reached %q, with %d asks", flows, where, asks)
				}
			}
		})
	}
}

// What a person lets happen happens, once they were asked; the same again doesn't ask, another pair does.
func TestAskedAndAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Allow: true})
	w.Person.flows = true
	a := newAgent(t, w, "one")
	defer a.Leave()
	for _, c := range []struct {
		source, sink string
		asks         int
	}{
		{"mcp.mail.read_mail", "mcp.net.lookup", 1}, {"mcp.mail.read_mail", "mcp.net.lookup", 0},
		{"mcp.mail.read_mail", "mcp.net.post", 1}, {"local.read_file", "mcp.net.post", 1}, {"local.read_file", "mcp.net.post", 0},
	} {
		a.Obey(t.Context(), []step{{c.source, ""}, {c.sink, ""}})
		if where := leaked(t, w); len(where) != 1 {
			t.Errorf("%s to %s reached %q", c.source, c.sink, where)
		}
		if n := flowsOf(w.Person.Take()); n != c.asks {
			t.Errorf("%s to %s: %d asks, want %d", c.source, c.sink, n, c.asks)
		}
	}
}
