package policy_test

import (
	"strings"
	"testing"
)

// own is a configuration of one server of the user's own.
func (w *world) own(more object) object {
	c := object{"mcpServers": object{"x": w.entry("x")}}
	for k, v := range more {
		c[k] = v
	}
	return c
}

// T2, case-273, F5: a yes is for one call with these bytes, by this client, of this server, and is used up by it. It
// can't be given twice, and outlives usher.
// Seen failing with take not writing down that a yes is used: the next call ran, too.
func TestAnAnswerIsForOneCall(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	d := w.serve(t)
	a := d.connected(t, "a")
	const args = `{"text":"one"}`
	id := a.asks(t, "mcp__x__write", args)
	if again := a.asks(t, "mcp__x__write", args); again != id {
		t.Errorf("the identical call has a question of its own: %s and %s", id, again)
	}
	w.works(t, "approvals", "allow", id)
	w.fails(t, 2, []string{"answered"}, "approvals", "allow", id)
	for _, other := range []string{`{"text":"two"}`, `{"text": "one"}`, `{"text":"one","text2":""}`} {
		a.asks(t, "mcp__x__write", other)
	}
	a.asks(t, "mcp__x__bare", args)
	if n := w.calls(t, "x", "write") + w.calls(t, "x", "bare"); n > 0 {
		t.Errorf("%d calls ran", n)
	}
	a.passes(t, "mcp__x__write", args)
	second := a.asks(t, "mcp__x__write", args)
	if second == id {
		t.Error("the question that was used up is asked again")
	}
	w.fails(t, 2, nil, "approvals", "allow", id)
	a.asks(t, "mcp__x__write", args)
	w.works(t, "approvals", "deny", second)
	if r := a.call(t, "mcp__x__write", args); !r.Failed || !strings.Contains(r.Text, "said no") {
		t.Errorf("after a no: %s", r.Text)
	}
	if n := w.calls(t, "x", "write"); n != 1 {
		t.Errorf("write ran %d times", n)
	}
}

// T2, S4: what one client was allowed, another one with the same arguments isn't, nor another session of the same client
// while the first one lives.
// Seen failing with keyOf without the client, and pick and look without the session: the other's call ran.
func TestAnAnswerIsForOneClient(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	d := w.serve(t)
	a, b, again := d.connected(t, "a"), d.connected(t, "b"), d.connected(t, "a")
	const args = `{"text":"same"}`
	id := a.asks(t, "mcp__x__write", args)
	for who, other := range map[string]*agent{"b": b, "another session of a": again} {
		if theirs := other.asks(t, "mcp__x__write", args); theirs == id {
			t.Errorf("%s shares the question of a", who)
		}
	}
	w.works(t, "approvals", "allow", id)
	b.asks(t, "mcp__x__write", args)
	again.asks(t, "mcp__x__write", args)
	if n := w.calls(t, "x", "write"); n > 0 {
		t.Fatalf("%d calls ran", n)
	}
	a.passes(t, "mcp__x__write", args)
}

// F5: questions and answers outlive usher. T2: what an answer is bound to is looked at after that, too.
// Seen failing with the entry left out of keyOf: the call of the changed server ran.
func TestAnAnswerOutlivesUsher(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	d := w.serve(t)
	const args = `{"text":"one"}`
	id := d.connected(t, "a").asks(t, "mcp__x__write", args)
	other := d.connected(t, "c").asks(t, "mcp__x__write", args)
	d.stop(t)
	contains(t, w.works(t, "approvals", "show", id), "mcp.x.write", `"text": "one"`)
	w.works(t, "approvals", "allow", id)
	w.works(t, "approvals", "allow", other)
	d = w.serve(t)
	d.connected(t, "a").passes(t, "mcp__x__write", args)
	w.configure(t, object{"mcpServers": object{"x": w.entry("x", "--changed")}})
	d.stop(t)
	w.serve(t).connected(t, "c").asks(t, "mcp__x__write", args)
	if n := w.calls(t, "x", "write"); n != 1 {
		t.Errorf("write ran %d times", n)
	}
}

// case-272, L1: a person sees all bytes of what they answer: nothing is cut off, and nothing acts on the terminal.
// Seen failing with printableJSON returning its argument: the escape sequence is there.
func TestAQuestionShowsAll(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	a := w.serve(t).connected(t, "a")
	long := strings.Repeat("x", 10_000) + "THE END"
	id := a.asks(t, "mcp__x__write", `{"text":"`+long+`","hidden":"a\u001b[8mb\u202ec\u200bd\u0000e`+"\u202e\u200b"+`","lines":"1\n\n\n\n\n\n2"}`)
	said := w.works(t, "approvals", "show", id)
	if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(said, "\n", ""), " ", ""), strings.ReplaceAll(long, " ", "")) {
		t.Errorf("10 kB aren't shown whole: %d bytes", len(said))
	}
	contains(t, strings.ToLower(said), `a\u001b[8mb\u202ec\u200bd\u0000e\u202e\u200b`)
	if strings.ContainsAny(said, "\x1b\u202e\u200b\x00") {
		t.Error("what hides or acts on a terminal reaches it")
	}
}

// T1, F2, case-263: a read-only hint is a claim: it lets a server of the user's own read without a question, and a
// project's not. A destructive call asks each time, whatever was allowed, and a yes to it is for it alone.
// Seen failing with trustsHints returning true for a project: its server read without a question.
func TestHintsAreClaims(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(object{"permissions": object{"allow": []string{"mcp.*", "*"}, "mode": "bypass"}}))
	w.write(t, "repo/.mcp.json", object{"mcpServers": object{"p": w.entry("p")}})
	w.trust(t, w.repo)
	a := w.serve(t, "--mode", "default").connected(t, "a")
	a.passes(t, "mcp__x__look", `{}`)
	a.passes(t, "mcp__x__write", `{}`)
	id := a.asks(t, "mcp__p__look", `{}`)
	contains(t, w.works(t, "approvals", "show", id), "its own word")
	destroy := a.asks(t, "mcp__x__destroy", `{}`)
	w.fails(t, 2, []string{"destructive"}, "approvals", "allow", destroy, "--always")
	w.fails(t, 2, []string{"destructive"}, "approvals", "allow", destroy, "--session")
	w.works(t, "approvals", "allow", destroy)
	a.passes(t, "mcp__x__destroy", `{}`)
	a.asks(t, "mcp__x__destroy", `{}`)
	if n := w.calls(t, "p", "look"); n > 0 {
		t.Errorf("the project's server was called %d times", n)
	}
}

// case-275: what is denied isn't seen either, under none of its names. case-276: each tool of usher's own has hints.
// Seen failing with Policy.Denied returning false: the tool was listed.
func TestDeniedIsHidden(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(object{"permissions": object{"deny": []string{"mcp.x.write", "mcp__x__bare"}, "allow": []string{"*"}}}))
	a := w.serve(t).connected(t, "a")
	list := a.do(t, step{List: true}).Text
	if strings.Contains(list, "write") || strings.Contains(list, "bare") || !strings.Contains(list, "mcp__x__look") {
		t.Errorf("the list: %s", list)
	}
	for _, tool := range []string{"mcp__x__write", "mcp.x.write", "mcp__x__bare", "write", "MCP__X__WRITE"} {
		if d := a.call(t, tool, `{}`); !d.Failed {
			t.Errorf("%s: %s", tool, d.Text)
		}
	}
	if n := w.calls(t, "x", "write") + w.calls(t, "x", "bare"); n > 0 {
		t.Errorf("%d calls ran", n)
	}
	for _, name := range []string{"read_file", "list_files", "search_text"} {
		_, rest, found := strings.Cut(list, `"name":"local__`+name+`"`)
		rest, _, _ = strings.Cut(rest, `"name":`)
		if !found || !strings.Contains(rest, `"readOnlyHint":true`) {
			t.Errorf("%s: %.200s", name, rest)
		}
	}
}
