package bad_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

var deepList = strings.Repeat("[", 200) + strings.Repeat("]", 200)

// A file that can't be understood as a whole: nothing runs, and the place of the mistake is named. H5, N3
func TestBrokenConfig(t *testing.T) {
	tests := []struct {
		name, config string
		want         []string
	}{
		{"broken JSON", "{\"mcpServers\": {\n  GOOD,\n  \"a\": {\"command\" \"x\"}\n}}", []string{"mcp.config.json:3:19: ", `write "name": value`}},
		{"cut off", `{"mcpServers": {GOOD`, []string{"mcp.config.json:1:"}},
		{"no object", `[]`, []string{"mcp.config.json:1:1: "}},
		{"a rule list twice", `{"mcpServers": {GOOD}, "permissions": {"deny": ["*"], "deny": []}}`,
			[]string{"mcp.config.json:1: permissions.deny: ", "twice; keep one"}},
		{"invalid UTF-8", "{\"mcpServers\": {GOOD},\n\"x\": \"\xff\"}", []string{"mcp.config.json:2:7: ", "not UTF-8; save the file as UTF-8"}},
		{"200 deep", `{"mcpServers": {GOOD}, "x": ` + deepList + `}`, []string{"mcp.config.json:1:", "nested more than 128 deep; remove"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.configure(t, test.config)
			for _, args := range [][]string{{"tools"}, {"call", "mcp.good.echo", "text=x"}, {"serve", "--listen", "127.0.0.1:0", "--json"}, {"stdio"}} {
				w.fails(t, 3, append(test.want, " doctor"), args...)
			}
			if _, err := os.Stat(w.data); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it made its data folder: %v", err)
			}
			w.noProcess(t)
		})
	}
}

// A mistake in one entry, or beside them, costs no other server.
func TestBadEntry(t *testing.T) {
	tests := []struct {
		name, config, call string // call: a tool of the entry that is lost; empty if none is
		want               []string
	}{
		{"unknown field", `{"mcpServers": {GOOD}, "permisions": {}}`, "",
			[]string{"mcp.config.json:1: permisions: unknown field", `did you mean "permissions"?`}},
		{"unknown field of a server", `{"mcpServers": {GOOD, "bad": {"comand": SERVER}}}`, "mcp.bad.echo",
			[]string{"mcpServers.bad", `needs "command" (a program) or "url"`}},
		{"missing variable", "{\"mcpServers\": {GOOD,\n\"bad\": {\"command\": SERVER, \"args\": [\"x\", \"${UNSET_HERE}\"]}}}", "mcp.bad.echo",
			[]string{"mcp.config.json:2: mcpServers.bad.args[1]: ", "the variable UNSET_HERE is not set", "set it or write ${UNSET_HERE:-default}"}},
		{"keys twice at depth", `{"mcpServers": {GOOD, "bad": {"command": SERVER, "env": {"A": "1", "A": "2"}}}}`, "mcp.bad.echo",
			[]string{"mcpServers.bad.env.A: ", "twice; keep one"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.configure(t, test.config)
			r := w.run(t, "tools")
			if r.code != 0 || !strings.Contains(r.out, "mcp.good.echo") {
				t.Errorf("usher tools: exit code %d: %s%s", r.code, r.out, r.err)
			}
			if strings.Contains(r.err, " mistakes; ") { // more than one: doctor tells them
				d := w.run(t, "doctor")
				r.err += d.out + d.err
			}
			contains(t, r.err, test.want...)
			if test.call != "" {
				w.fails(t, 3, append(test.want, " doctor"), "call", test.call, "text=x")
			}
			w.goodWorks(t)
			f := w.stdio(t)
			f.goodWorks(t)
			code, stderr := f.end(t)
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			contains(t, stderr, test.want...)
			w.check(t)
		})
	}
}
