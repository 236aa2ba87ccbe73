package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mine is a file as people write it.
const mine = "\ufeff// mine\r\n{\r\n\t\"servers\": { // all of them\r\n\t\t// files\r\n\t\t\"fs\": { \"command\": \"fs\", /* why */ \"enabled\" : true },\r\n" +
	"\r\n\t\t/* jira */\r\n\t\t\"jira\": {\r\n\t\t\t\"url\": \"https://j\", // where\r\n\t\t\t\"disabled\": true // for now\r\n\t\t}, // jira, too\r\n" +
	"\t\t\"git\": {\"command\": \"git\",}, // last\r\n\t},\r\n\t// rules\r\n\t\"permissions\": {\"allow\": [\"a\",]},\r\n}"

// serverEdit runs "off NAME", "on NAME", "add NAME ENTRY" or "remove NAME".
func serverEdit(path, op string) error {
	w := strings.SplitN(op, " ", 3)
	switch w[0] {
	case "add":
		return AddServer(path, w[1], json.RawMessage(w[2]))
	case "remove":
		return RemoveServer(path, w[1])
	}
	_, err := SetDisabled(path, w[1], w[0] == "off")
	return err
}

func serverEdits() []editCase {
	replaced := func(old, with string) string {
		if strings.Count(mine, old) != 1 {
			panic(old)
		}
		return strings.Replace(mine, old, with, 1)
	}
	const one = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // about a\n    // about b\n    \"b\": {\n      \"command\": \"b\"\n    } // b, too\n  }\n}\n"
	return []editCase{
		{"off-by-enabled", "off fs", mine, replaced(`"enabled" : true`, `"enabled" : false`)},
		{"on-by-disabled", "on jira", mine, replaced(`"disabled": true // for now`, `"disabled": false // for now`)},
		{"off-added", "off git", mine, replaced(`{"command": "git",}`, `{"command": "git", "disabled": true,}`)},
		{"off-already", "off jira", mine, mine},
		{"on-already", "on git", mine, mine},
		{"off-added-line", "off b", one, strings.Replace(one, "\"b\"\n", "\"b\",\n      \"disabled\": true\n", 1)},
		{"on-both", "on s", `{"servers":{"s":{"disabled":true,"command":"x","enabled":false}}}`, `{"servers":{"s":{"disabled":false,"command":"x","enabled":true}}}`},
		{"off-both", "off s", `{"servers":{"s":{"command":"x","enabled":true,"disabled":false}}}`, `{"servers":{"s":{"command":"x","enabled":true,"disabled":true}}}`},
		{"off-empty", "off s", "{\"servers\": {\"s\": {}}}", "{\"servers\": {\"s\": {\"disabled\": true}}}"},

		{"remove-first", "remove fs", mine, replaced("\t\t\"fs\": { \"command\": \"fs\", /* why */ \"enabled\" : true },\r\n", "")},
		{"remove-lines", "remove jira", mine, replaced("\t\t\"jira\": {\r\n\t\t\t\"url\": \"https://j\", // where\r\n\t\t\t\"disabled\": true // for now\r\n\t\t}, // jira, too\r\n", "")},
		{"remove-last-with-comma", "remove git", mine, replaced("\t\t\"git\": {\"command\": \"git\",}, // last\r\n", "")},
		{"remove-first-plain", "remove a", one, "{\n  \"mcpServers\": {\n    // about b\n    \"b\": {\n      \"command\": \"b\"\n    } // b, too\n  }\n}\n"},
		{"remove-last", "remove b", one, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"} // about a\n    // about b\n  }\n}\n"},
		{"remove-only", "remove a", "{\n  \"servers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n", "{\n  \"servers\": {\n  }\n}\n"},
		{"remove-only-inline", "remove a", `{"servers": { "a": {"command": "a"} }, "log": {}}`, `{"servers": { }, "log": {}}`},
		{"remove-inline-first", "remove a", `{"servers": {"a": {"command": "a"}, /* b */ "b": {"command": "b"}}}`, `{"servers": {/* b */ "b": {"command": "b"}}}`},
		{"remove-inline-last", "remove b", `{"servers": {"a": {"command": "a"}, "b": {"command": "b"} }}`, `{"servers": {"a": {"command": "a"} }}`},
		{"remove-inline-comment", "remove b", `{"servers": {"a": {"command": "a"} /* a */ , /* b */ "b": {"command": "b"}}}`, `{"servers": {"a": {"command": "a"} /* a */  /* b */ }}`},
		{"remove-minified", "remove b", `{"servers":{"a":{"command":"a"},"b":{"command":"b"},"c":{"command":"c"}}}`, `{"servers":{"a":{"command":"a"},"c":{"command":"c"}}}`},
		{"remove-shared-line", "remove a", "{\"servers\": {\n  \"a\": {\"command\": \"a\"}, \"b\": {\"command\": \"b\"}\n}}", "{\"servers\": {\n  \"b\": {\"command\": \"b\"}\n}}"},
		{"remove-before-brace", "remove b", "{\"servers\": {\n  \"a\": {\"command\": \"a\"},\n  \"b\": {\"command\": \"b\"}}}", "{\"servers\": {\n  \"a\": {\"command\": \"a\"}\n  }}"},
		{"remove-block-comment", "remove a", "{\"servers\": {\n  \"a\": {\"command\": \"a\"}, /* long\n  story */\n  \"b\": {\"command\": \"b\"}\n}}", "{\"servers\": {\n  /* long\n  story */\n  \"b\": {\"command\": \"b\"}\n}}"},
		{"remove-escaped", "remove é", "{\"servers\": {\"\\u00e9\": {\"command\": \"a\"}}}", "{\"servers\": {}}"},
		{"remove-broken", "remove a", `{"servers": {"a": 7, "b": {"command": "b"}}}`, `{"servers": {"b": {"command": "b"}}}`},

		{"add", `add new {"command":"npx","args":["-y","x"],"env":{"A":"${B}"}}`, mine, replaced(
			"\t\t\"git\": {\"command\": \"git\",}, // last\r\n",
			"\t\t\"git\": {\"command\": \"git\",}, // last\r\n\t\t\"new\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\"-y\", \"x\"],\r\n\t\t\t\"env\": {\"A\": \"${B}\"}\r\n\t\t},\r\n")},
		{"add-one-line", `add new {"url": "${URL}"}`, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"} // a\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}, // a\n    \"new\": {\"url\": \"${URL}\"}\n  }\n}\n"},
		{"add-first", `add new {"command":"x"}`, "{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"add-no-servers", `add new {"command":"x"}`, "{\n  \"log\": {} // log\n}\n", "{\n  \"log\": {}, // log\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"add-no-file", `add new {"command":"x"}`, "", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"add-minified", `add new {"command": "x", "args": ["a", "b"]}`, `{"mcpServers":{"a":{"command":"a"}}}`, `{"mcpServers":{"a":{"command":"a"},"new":{"command":"x","args":["a","b"]}}}`},
		{"add-as-written", `add a.b {"command":"\u0078 \"y\"","callTimeout":1500.0}`, `{"mcpServers": {}, "servers": {}}`, `{"mcpServers": {"a.b": {"command": "\u0078 \"y\"", "callTimeout": 1500.0}}, "servers": {}}`},
		{"add-beside-broken", `add new {"command":"x"}`, `{"servers": {"a": 7}}`, `{"servers": {"a": 7, "new": {"command": "x"}}}`},
	}
}

func TestServerEdits(t *testing.T) {
	for _, tt := range serverEdits() {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.in)
			if err := serverEdit(path, tt.op); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, read(t, path)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkOthers(t, tt.in, tt.want, strings.Fields(tt.op)[1])
			if !strings.HasPrefix(tt.op, "o") {
				if err := serverEdit(path, tt.op); err == nil || read(t, path) != tt.want {
					t.Errorf("again: %v", err)
				}
				return
			}
			if changed, err := SetDisabled(path, strings.Fields(tt.op)[1], strings.HasPrefix(tt.op, "off")); changed || err != nil {
				t.Errorf("again: %v %v", changed, err)
			}
		})
	}
}

// checkOthers reads both files: all but one server, and all else, is the same.
func checkOthers(t *testing.T, before, after, but string) {
	t.Helper()
	parse := func(s string) *Config {
		cfg, err := Parse("c", []byte(s), nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, s)
		}
		cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s Server) bool { return s.Name == but })
		return cfg
	}
	old, now := parse(before), parse(after)
	if !slices.EqualFunc(old.Servers, now.Servers, func(a, b Server) bool { return a.Key == b.Key }) {
		t.Errorf("other servers changed from\n%v to\n%v", old.Servers, now.Servers)
	}
	if !slices.EqualFunc(old.Permissions.Allow, now.Permissions.Allow, func(a, b Rule) bool { return a.Pattern == b.Pattern }) {
		t.Error("the rules changed")
	}
}

func TestSetDisabledIsSeen(t *testing.T) {
	path := write(t, mine)
	for _, off := range []bool{true, false, true} {
		for _, name := range []string{"fs", "jira", "git"} {
			if _, err := SetDisabled(path, name, off); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := Load(path, nil)
		if err != nil || len(cfg.Problems) > 0 || len(cfg.Servers) != 3 {
			t.Fatal(err, cfg)
		}
		for _, s := range cfg.Servers {
			if s.Disabled != off {
				t.Errorf("%s: disabled %v", s.Name, s.Disabled)
			}
		}
	}
}

func TestServerEditsRefuse(t *testing.T) {
	const two = `{"servers": {"fs": {"command": "x"}, "git": {"command": "x"}, "odd name": 7}, "profile": "minimal"}`
	for _, tt := range []struct{ op, in, want string }{
		{"off fss", two, `no server is called "fss"; did you mean fs?`},
		{"on Git", two, `no server is called "Git"; did you mean git?`},
		{"remove zzzzzz", two, `no server is called "zzzzzz"; there are fs, git and "odd name"`},
		{"remove x", `{}`, `no server is called "x"; the configuration has none`},
		{"remove x", ``, `no server is called "x"; the configuration has none`},
		{"off jira-d", `{"servers": {"jira-prod": {}, "jira-dev": {}, "jira": {}, "jira-d3": {}}}`, `no server is called "jira-d"; did you mean jira-d3, jira or jira-dev?`},
		{"off s", `{"servers": {"s": 7}}`, `:1: servers.s: expected an object; write {"command": "…"} or {"url": "https://…"} first`},
		{"off s", `{"servers": {"s": {"disabled": "no"}}}`, `:1: servers.s.disabled: expected true or false; correct it first`},
		{"off s", `{"servers": {"s": {}}, "mcpServers": {"s": {}}}`, `:1: mcpServers.s: this name is here twice; keep one of them`},
		{"remove s", `{"servers": {"s": {}, "s": {}}}`, `:1: servers.s: this name is here twice; keep one of them`},
		{"remove s", `{"servers": {"s": {}`, `the file ends too early`},
		{"add fs {\"command\": \"x\"}", two, `:1: servers.fs: this name is already used; remove that server, or choose another name`},
		{"add s {\"command\": \"x\"}", `{"servers": {"s": {}, "s": {}}}`, `:1: servers.s: this name is already used; remove that server, or choose another name`},
		{"add local {\"command\": \"x\"}", two, `this name is reserved for usher's own servers; choose another one`},
		{"add usher-x {\"command\": \"x\"}", two, `this name is reserved for usher's own servers; choose another one`},
		{"add " + strings.Repeat("x", 65) + " {\"command\": \"x\"}", two, `a server's name is at most 64 bytes; shorten it`},
		{"add s {", two, `the entry of "s": it is not JSON; write {"command": "…"} or {"url": "https://…"}`},
		{"add s []", two, `the entry of "s": expected an object; write {"mcpServers": {…}}`},
		{"add s {}", two, `the entry of "s": needs "command" (a program) or "url" (a remote server)`},
		{"add s {\"command\": \"x\", // why\n}", two, `the entry of "s": it is not JSON; write {"command": "…"} or {"url": "https://…"}`},
		{"add s {\"command\": 1, \"args\": [1]}", two, `the entry of "s": command: expected a string; write "…"; also args[0]: expected a string; write "…"`},
		{"add s {\"command\": \"x\", \"command\": \"x\"}", two, `the entry of "s": command: this name is here twice; keep one of them`},
		{"add s {\"command\": \"x\", \"retry\": {\"attempts\": -1}}", two, `the entry of "s": retry.attempts: expected a whole number from 0 to 1000`},
		{"add s {\"url\": \"ws://h\"}", two, `the entry of "s": is of type ws, and the profile minimal has only stdio; change "profile", or disable the server`},
		{"add s {\"command\": \"\\ud800\"}", two, `the entry of "s": a \u escape in this entry is no character; correct it`},
		{"add s {\"command\": \"x\"}", `{"mcpServers": 7}`, `:1: mcpServers: expected an object; write {} here first`},
		{"add s {\"command\": " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", two, `the entry of "s": nested more than 128 deep; remove the levels below`},
	} {
		path := write(t, tt.in)
		if err := serverEdit(path, tt.op); err == nil || strings.TrimPrefix(err.Error(), path) != tt.want && !strings.Contains(err.Error(), tt.want) || read(t, path) != tt.in {
			t.Errorf("%.60s in %s: %v\nwant %s", tt.op, tt.in, err, tt.want)
		}
	}
	path := write(t, two)
	for _, name := range []string{"", "a\nb", "\xff"} {
		if err := AddServer(path, name, json.RawMessage(`{"command": "x"}`)); err == nil || read(t, path) != two {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if err := AddServer(path, "s", json.RawMessage(`{"command": "canary", "env": {"A=": "canary"}}`)); err == nil || strings.Contains(err.Error(), "canary") { // G4
		t.Errorf("a value in the error: %v", err)
	}
}

// The lock and the new file are AddRule's own.
func TestServerEditsAtOnce(t *testing.T) {
	path := write(t, "{\n  // mine\n  \"mcpServers\": {}\n}\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			entry := json.RawMessage(`{"command": "x"}`)
			_, off := SetDisabled(path, "nobody", true)
			err := errors.Join(AddServer(path, a, entry), AddServer(path, b, entry), RemoveServer(path, a))
			if _, offErr := SetDisabled(path, b, true); err != nil || offErr != nil || off == nil {
				t.Error(err, offErr, off)
			}
		})
	}
	wg.Wait()
	cfg, err := Load(path, nil)
	if err != nil || len(cfg.Problems) > 0 || len(cfg.Servers) != 8 || !strings.Contains(read(t, path), "// mine\n") {
		t.Fatal(err, read(t, path))
	}
	for _, s := range cfg.Servers {
		if !s.Disabled || !strings.HasPrefix(s.Name, "b") {
			t.Errorf("got %s, disabled %v", s.Name, s.Disabled)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Error(info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func FuzzServerEdit(f *testing.F) {
	for _, tt := range serverEdits() {
		f.Add([]byte(tt.in), strings.Fields(tt.op)[1])
	}
	f.Fuzz(func(t *testing.T, in []byte, name string) {
		entry, err := newEntry(json.RawMessage(`{"command": "x", "args": ["y"]}`))
		if err != nil || badServerName(name) != "" {
			return
		}
		before, err := parseForEdit("c", in)
		if err != nil {
			return
		}
		all, old, err := before.server(name)
		var changes []change
		switch {
		case err == nil:
			changes = all.cut(old)
		case all == nil:
			if changes, err = before.addServer(name, entry); err != nil {
				return
			}
		default:
			return
		}
		out := before.apply(changes)
		after, err := parseForEdit("c", out)
		if err != nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		if box, _, _ := after.server(name); (box == nil) != (all != nil) {
			t.Fatalf("%q became %q", in, out)
		}
		checkOthers(t, string(in), string(out), name)
	})
}
