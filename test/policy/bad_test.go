package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Bad input, L3: a file that is swapped between the look at it and the start: what runs is what was trusted, always.
// Seen failing with the file read again once its entry was found to be trusted: the other one was started three times.
func TestSwappedWhileItIsRead(t *testing.T) {
	w := newWorld(t)
	w.configure(t, object{})
	good, evil := object{"mcpServers": object{"p": w.entry("p")}}, object{"mcpServers": object{"p": w.entry("evil")}}
	w.write(t, "repo/.mcp.json", good)
	w.trust(t, w.repo)
	stop, swaps := make(chan struct{}), atomic.Int64{}
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			w.write(t, "repo/.mcp.json", []object{good, evil}[i%2])
			swaps.Add(1)
		}
	})
	d := w.serve(t)
	a := d.connected(t, "a")
	for range 8 {
		_ = w.run(t, "tools")
		_ = a.call(t, "mcp__p__look", `{}`)
		_ = w.run(t, "servers", "restart", "p")
	}
	close(stop)
	swapping.Wait()
	w.neverStarted(t, fmt.Sprint(swaps.Load(), " swaps"), "evil")
	if w.starts(t, "p") == 0 || swaps.Load() < 50 {
		t.Errorf("after %d swaps the good one was started %d times: this shows nothing", swaps.Load(), w.starts(t, "p"))
	}
}

// Bad input: several processes, and an editor, write the configuration at once: nothing of any of them is lost, and no half
// is ever read.
// Seen failing with tryLock taking no lock and replace not looking whether the file is what was read: rules were lost.
func TestTwoWriters(t *testing.T) {
	w := newWorld(t)
	w.configure(t, w.own(nil))
	d := w.serve(t)
	var all sync.WaitGroup
	const writers, each = 4, 2
	for i := range writers {
		all.Go(func() {
			for j := range each {
				w.works(t, "allow", "--force", fmt.Sprintf("mcp.x.tool%d_%d", i, j))
				w.works(t, "servers", "add", fmt.Sprintf("s%d-%d", i, j), "--url", "http://127.0.0.1:1/mcp")
			}
		})
	}
	all.Wait()
	var got struct {
		MCPServers  map[string]any
		Permissions struct{ Allow []string }
	}
	b, err := os.ReadFile(w.config)
	if err != nil || json.Unmarshal(b, &got) != nil {
		t.Fatalf("%v: %s", err, b)
	}
	if len(got.MCPServers) != 1+writers*each || len(got.Permissions.Allow) != writers*each {
		t.Errorf("%d servers and %d rules are left of %d: %s", len(got.MCPServers), len(got.Permissions.Allow), writers*each, b)
	}
	if said := d.said(); strings.Contains(said, "stays in force") {
		t.Errorf("a half was read: %s", said)
	}
}

// Bad input: a condition that doesn't compile is told with its place. Its deny or ask counts without it, its allow not at
// all.
// Seen failing with a condition that doesn't compile taken for none: the allow rule let the call run.
func TestBrokenCondition(t *testing.T) {
	w := newWorld(t)
	w.write(t, w.config, `{"approvals": {"wait": "0s"}, "flows": "off",
  "mcpServers": {"x": {"command": "`+w.puppet+`", "args": ["-journal", "`+w.journal("x")+`"]}},
  "permissions": {
    "deny": [{"rule": "mcp.x.look", "when": "args.text =="}],
    "ask": [{"rule": "mcp.x.run", "when": "nosuch(args)"}],
    "allow": [{"rule": "mcp.x.write", "when": "args.text + 1 =="},
      {"rule": "mcp.x.bare", "when": "args.n > 1"}, {"rule": "mcp.x.destroy", "when": "true"}]
  }}`)
	a := w.serve(t).connected(t, "a")
	if r := a.call(t, "mcp__x__look", `{}`); !r.Failed {
		t.Errorf("it isn't denied: %s", r.Text)
	}
	a.asks(t, "mcp__x__run", `{}`)
	a.asks(t, "mcp__x__write", `{"text":"x"}`)
	a.asks(t, "mcp__x__bare", `{"n":1}`)
	a.asks(t, "mcp__x__bare", `{"n":"many"}`) // it can't be evaluated
	a.asks(t, "mcp__x__destroy", `{}`)
	a.passes(t, "mcp__x__bare", `{"n":2}`)
	r := w.run(t, "doctor")
	contains(t, r.text, w.config+":4", w.config+":5", w.config+":6")
	if strings.Contains(r.text, w.config+":7") {
		t.Errorf("a good condition is told: %s", r.text)
	}
	if n := len(w.journaled(t, "x", "call")); n != 1 {
		t.Errorf("%d calls ran", n)
	}
}

// Bad input: a rule that names nothing is told, with the name that it is near to; usher allow doesn't write one.
// Seen failing with futile returning "": usher allow wrote it.
func TestARuleThatNamesNothing(t *testing.T) {
	w := newWorld(t)
	w.write(t, w.config, `{"mcpServers": {"jira": {"command": "`+w.puppet+`", "args": ["-journal", "`+w.journal("x")+`"]}},
  "permissions": {"deny": ["mcp.jria.write",
    "mcp.jira.destory"], "allow": ["mcp.jira.wirte"]}}`)
	r := w.run(t, "doctor")
	contains(t, r.text, "mcp.jria.write", "mcp.jira.destory", "mcp.jira.destroy", "mcp.jira.wirte")
	contains(t, r.text, filepath.Base(w.config)+":2", filepath.Base(w.config)+":3")
	w.fails(t, 2, []string{"did you mean mcp.jira.*?", "Nothing was written"}, "allow", "mcp.jra.*")
}
