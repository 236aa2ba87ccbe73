package policy_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// decisions are the commands by which somebody lets more run; Q stands for the id of an open question.
var decisions = [][]string{
	{"approvals", "allow", "Q"}, {"approvals", "allow", "Q", "--always"}, {"approvals", "deny", "Q"},
	{"allow", "mcp.x.write"}, {"allow", "*", "--force"}, {"allow", "mcp.x.destroy", "--risk", "read"},
	{"secret", "set", "name"}, {"secret", "remove", "name"},
	{"trust", "--yes", "p"}, {"trust", "--all", "--yes"}, {"permission", "mode", "bypass"},
	{"servers", "add", "evil", "--", "true"}, {"servers", "enable", "off"}, {"servers", "remove", "off"},
	{"import", "--from", "evil.json", "--yes"}, {"connect", "cursor", "--file", "evil.json", "--yes"}, {"servers", "restart", "x"},
}

// ways are how a program may be started by whoever may not decide; those whose parent has ended are known by their
// session.
var ways = []string{"child", "shell", "orphan"}

// refusedAll has somebody try all decisions, and checks that each is refused and nothing has changed. It returns after the
// same decision by a person has counted.
func (w *world) refusedAll(t *testing.T, id, tool string, try func(t *testing.T, how string, argv []string) ran) {
	t.Helper()
	before, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	for i, args := range decisions {
		argv := []string{w.usher}
		for _, a := range args {
			argv = append(argv, strings.ReplaceAll(a, "Q", id))
		}
		r := try(t, ways[i%len(ways)], argv)
		if r.Code != 4 || !strings.Contains(strings.Join(strings.Fields(r.Out), " "), "can't decide about its own calls") {
			t.Errorf("%s %q: exit code %d: %s", ways[i%len(ways)], argv[1:], r.Code, r.Out)
		}
	}
	for _, how := range ways {
		if r := try(t, how, []string{w.usher, "approvals", "allow", id}); r.Code != 4 {
			t.Errorf("%s: exit code %d: %s", how, r.Code, r.Out)
		}
	}
	if after, err := os.ReadFile(w.config); err != nil || string(after) != string(before) {
		t.Errorf("the configuration has changed: %v %s", err, after)
	}
	if _, err := os.Stat(strings.Replace(w.config, "mcp.config.json", "imported.json", 1)); err == nil {
		t.Error("servers were imported")
	}
	if n := w.calls(t, "x", tool); n > 0 {
		t.Errorf("%s ran %d times", tool, n)
	}
	contains(t, w.works(t, "approvals", "show", id), "To answer, run one of these")
	w.works(t, "approvals", "allow", id) // a person in another terminal
}

// forDecisions is a world in which each of the decisions could do something.
func forDecisions(t *testing.T) *world {
	w := newWorld(t)
	w.configure(t, object{"mcpServers": object{"x": w.entry("x"), "off": object{"command": w.puppet, "disabled": true}}, "flows": "off"})
	w.write(t, "repo/.mcp.json", object{"mcpServers": object{"p": w.entry("p")}})
	w.write(t, "repo/evil.json", object{"mcpServers": object{"imported": w.entry("imported")}})
	return w
}

// F5: a server that usher started can't answer the question of a call, nor let anything else run.
// Seen failing with Guard.Check returning nil: its child answered; without mayDecide in allow: its child wrote a rule.
func TestAServersChildDecidesNothing(t *testing.T) {
	w := forDecisions(t)
	a := w.serve(t).connected(t, "a")
	const args = `{"text":"one"}`
	id := a.asks(t, "mcp__x__write", args)
	w.refusedAll(t, id, "write", func(t *testing.T, how string, argv []string) (r ran) {
		b, err := json.Marshal(object{"how": how, "argv": argv})
		if err != nil {
			t.Fatal(err)
		}
		d := a.call(t, "mcp__x__run", string(b))
		if err := json.Unmarshal([]byte(d.Text), &r); err != nil {
			t.Fatalf("%v: %s", err, d.Text)
		}
		return r
	})
	a.passes(t, "mcp__x__write", args)
	w.neverStarted(t, "all that", "p", "imported")
}

// F5: nor can a client that is connected over HTTP, or what it started.
// Seen failing with noteClients leaving the listeners as they are: the client's child answered; without mayDecide in edit and
// in the API's change: it added a server.
func TestAClientsChildDecidesNothing(t *testing.T) {
	w := forDecisions(t)
	a := w.serve(t).connected(t, "a")
	const args = `{"text":"one"}`
	id := a.asks(t, "mcp__x__write", args)
	w.refusedAll(t, id, "write", func(t *testing.T, how string, argv []string) ran { return a.do(t, step{How: how, Run: argv}).Ran })
	a.passes(t, "mcp__x__write", args)
	w.neverStarted(t, "all that", "p", "imported")
}

// F5: nor can one that started usher stdio itself.
// Seen failing with noteStarter not looking at who is behind stdin: the client's child answered.
func TestAStarterDecidesNothing(t *testing.T) {
	w := forDecisions(t)
	a := w.stdio(t)
	const args = `{"text":"one"}`
	id := a.asks(t, "mcp__x__write", args)
	w.refusedAll(t, id, "write", func(t *testing.T, how string, argv []string) ran { return a.do(t, step{How: how, Run: argv}).Ran })
	a.passes(t, "mcp__x__write", args)
	w.neverStarted(t, "all that", "p", "imported")
}

// F5: a client can't hang up and answer then, nor answer what another client, or another usher, asked.
// Seen failing with KinOf leaving out the clients of an usher that has ended: they answered.
func TestAClientStaysOne(t *testing.T) {
	w := forDecisions(t)
	d := w.serve(t)
	a, b := d.connected(t, "a"), w.stdio(t)
	id, other := a.asks(t, "mcp__x__write", `{"text":"a"}`), b.asks(t, "mcp__x__write", `{"text":"b"}`)
	d.stop(t)
	for _, who := range []*agent{a, b} {
		for _, one := range []string{id, other} {
			if r := who.do(t, step{How: "child", Run: []string{w.usher, "approvals", "allow", one}}).Ran; r.Code != 4 {
				t.Errorf("exit code %d: %s", r.Code, r.Out)
			}
		}
	}
	if n := w.calls(t, "x", "write"); n > 0 {
		t.Errorf("write ran %d times", n)
	}
}
