package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func vars(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// message is a file, what is said about it and which servers stay.
type message struct {
	name, in string
	servers  string
	want     []string // without "f.json:"
}

// one puts a server's entry between two that are right. It is in line 3.
func one(entry string) string {
	return "{\"mcpServers\": {\n\"a\": {\"command\": \"a\"},\n\"s\": " + entry + ",\n\"z\": {\"url\": \"https://z.example/\"}\n}}"
}

func (m message) check(t *testing.T) {
	t.Helper()
	cfg, err := Parse("f.json", []byte(m.in), vars("HOME", "/home/u"))
	var got, servers []string
	if err != nil {
		got = append(got, strings.TrimPrefix(err.Error(), "f.json:"))
		cfg = &Config{}
	}
	for _, p := range cfg.Problems {
		got = append(got, strings.TrimPrefix(p.Error(), "f.json:"))
	}
	for _, s := range cfg.Servers {
		servers = append(servers, s.Name)
	}
	if diff := cmp.Diff(m.want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if s := strings.Join(servers, " "); s != m.servers {
		t.Errorf("servers %q, want %q", s, m.servers)
	}
}

func TestMessagesForEntries(t *testing.T) { // G1, case-189
	const arg = `{"command": "x", "args": ["ok", `
	for _, m := range []message{
		{"type of args", one(`{"command": "x", "args": "y"}`), "a z", []string{`3: mcpServers.s.args: expected a list of strings; write ["…"]`}},
		{"type of an argument", one(arg + `1]}`), "a z", []string{`3: mcpServers.s.args[1]: expected a string; write "…"`}},
		{"own line", one("{\n\"command\": \"x\",\n\"args\": [\n1]}"), "a z", []string{`6: mcpServers.s.args[0]: expected a string; write "…"`}},
		{"all mistakes", one(`{"command": 1, "cwd": [], "env": 7, "disabled": "no"}`), "a z", []string{
			`3: mcpServers.s.command: expected a string; write "…"`, `3: mcpServers.s.cwd: expected a string; write "…"`,
			`3: mcpServers.s.env: expected an object; write {"NAME": "…"}`, `3: mcpServers.s.disabled: expected true or false`}},
		{"no object", one(`"npx"`), "a z", []string{`3: mcpServers.s: expected an object; write {"command": "…"} or {"url": "https://…"}`}},
		{"empty command", one(`{"command": " "}`), "a z", []string{`3: mcpServers.s.command: is empty; it must name a program; write "command": "…"`}},
		{"neither", one(`{}`), "a z", []string{`3: mcpServers.s: needs "command" (a program) or "url" (a remote server)`}},
		{"both", one(`{"command": "x", "url": "http://x"}`), "a z", []string{`3: mcpServers.s: has both "command" and "url"; keep one of them`}},
		{"unknown", one(`{"command": "x", "cmmand": "y", "colour": 1}`), "a s z", []string{
			`3: mcpServers.s.cmmand: unknown field, did you mean "command"? It is ignored`,
			`3: mcpServers.s.colour: unknown field, ignored; known are type, command, args, env, cwd, url, headers, bearerToken, tls, disabled, trustHints, ` + strings.Join(tuneFields, ", ")}},
		{"other spelling", one(`{"command": "x", "start_timeout": 1}`), "a s z", []string{`3: mcpServers.s.start_timeout: unknown field, did you mean "startTimeout"? It is ignored`}},
		{"foreign, silent", one(`{"command": "x", "description": "d", "alwaysLoad": true, "enabled": true}`), "a s z", nil},
		{"foreign, said", one(`{"serverUrl": "http://x"}`), "a z", []string{
			`3: mcpServers.s: needs "command" (a program) or "url" (a remote server)`, `3: mcpServers.s.serverUrl: not read here; write "url"`}},
		{"approval", one(`{"command": "x", "autoApprove": ["t"]}`), "a s z", []string{`3: mcpServers.s.autoApprove: ignored; what may run without asking is set in permissions.allow`}},
		{"filter", one(`{"command": "x", "disabledTools": ["t"]}`), "a s z", []string{`3: mcpServers.s.disabledTools: ignored: all tools are offered; hide some with permissions.deny`}},
		{"type", one(`{"type": "canary", "url": "http://x"}`), "a z", []string{`3: mcpServers.s.type: expected "stdio", "http", "sse", "ws" or "grpc"`}},
		{"type without its field", one(`{"type": "stdio", "url": "http://x"}`), "a z", []string{`3: mcpServers.s: is of type stdio and has no "command"; write "command": "…"`}},
		{"other transport", one(`{"url": "http://x", "args": ["y"], "env": {}}`), "a z", []string{`3: mcpServers.s.args: has no meaning for a server of type http; remove it`}},
		{"no address", one(`{"url": "x.example"}`), "a z", []string{`3: mcpServers.s.url: not an address of a server; write https://host/path, or begin with http, wss, ws, grpcs or grpc, or write unix:///path of a socket`}},
		{"header", one(`{"url": "http://x", "headers": {"A": "x\r\nB: y", "c d": "x", "e": "1", "E": "2"}}`), "a z", []string{
			`3: mcpServers.s.headers.A: a header has no line break or other control character; remove it from the value or from its variable`,
			`3: mcpServers.s.headers["c d"]: not the name of a header; use letters, digits and -`,
			`3: mcpServers.s.headers.E: this header is here twice, in two spellings; keep one of them`}},
		{"env name", one(`{"command": "x", "env": {"A=B": "x", "C": ["y"]}}`), "a z", []string{
			`3: mcpServers.s.env["A=B"]: a variable's name is not empty and has no "="; correct it`,
			`3: mcpServers.s.env.C: expected a string, number, true, false or null; write "…"`}},
		{"NUL", one(`{"command": "x\u0000y"}`), "a z", []string{`3: mcpServers.s.command: a NUL character can't be passed on; remove \u0000`}},
		{"missing variable", one(arg + `"${HOME}${NOPE}"]}`), "a z", []string{"3: mcpServers.s.args[1]: the variable NOPE is not set; set it or write ${NOPE:-default}"}},
		{"missing, disabled", one(`{"command": "${NOPE}", "disabled": true}`), "a s z", nil},
		{"other dialect", one(`{"command": "${env:X}"}`), "a s z", []string{"3: mcpServers.s.command: ${env:…} and ${input:…} are no variables here and stay as they are; write ${NAME}"}},
		{"seconds", one(`{"command": "x", "timeout": 60}`), "a s z", []string{`3: mcpServers.s.timeout: ignored: this is milliseconds here; for seconds write "callTimeout": "…s"`}},
		{"time", one(`{"command": "x", "startTimeout": "soon", "callTimeout": -1}`), "a z", []string{
			`3: mcpServers.s.startTimeout: expected a time; write "30s" or a number of milliseconds`, `3: mcpServers.s.callTimeout: a time is from 0 (the default) to 168h`}},
		{"huge time", one(`{"command": "x", "callTimeout": 1e300}`), "a z", []string{`3: mcpServers.s.callTimeout: a time is from 0 (the default) to 168h`}},
		{"repeated field", one(`{"command": "x", "command": "y"}`), "a z", []string{`3: mcpServers.s.command: this name is here twice; keep one of them`}},
		{"repeated at depth", one(`{"command": "x", "metadata": [{"b": {"c": 1,` + "\n" + `"c": 2}}]}`), "a z", []string{`4: mcpServers.s.metadata[0].b.c: this name is here twice; keep one of them`}},
		{"bad surrogate", one(`{"command": "\ud800"}`), "a z", []string{`3: mcpServers.s: a \u escape in this entry is no character; correct it`}},
	} {
		t.Run(m.name, m.check)
	}
}

func TestMessagesForFile(t *testing.T) { // G1
	deep := strings.Repeat("[", 129)
	for _, m := range []message{
		{"names", `{"servers": {"": {}, "a\u0007b": {}, "` + strings.Repeat("x", 65) + `": {}, "local": {}, "Usher": {}, "usher-x": {}, "ushers": {"command": "x"}}}`, "ushers", []string{
			`1: servers[""]: a server needs a name; write one in place of the empty text`,
			`1: servers["a\ab"]: a server's name has no control characters; remove them`,
			`1: servers["` + strings.Repeat("x", 64) + `…"]: a server's name is at most 64 bytes; shorten it`,
			`1: servers.local: this name is reserved for usher's own servers; choose another one`, // E3
			`1: servers.Usher: this name is reserved for usher's own servers; choose another one`,
			`1: servers.usher-x: this name is reserved for usher's own servers; choose another one`}},
		{"in both", "{\"servers\": {\"s\": {\"command\": \"x\"}},\n\"mcpServers\": {\"s\": {\"command\": \"y\"}, \"t\": {\"command\": \"z\"}}}", "s t", []string{`2: mcpServers.s: this name is already used in line 1; rename one of the servers`}},
		{"name twice", `{"servers": {"s": {"command": "x"}, "s": {"command": "y"}}}`, "s", []string{`1: servers.s: this name is already used in line 1; rename one of the servers`}},
		{"servers no object", `{"mcpServers": [], "servers": {"s": {"command": "x"}}}`, "s", []string{`1: mcpServers: expected an object; write {"NAME": {"command": "…"}}`}},
		{"wrong key", `{"mcp_servers": {}, "mcpServer": {}, "inputs": []}`, "", []string{
			`1: mcp_servers: not read here; put the servers into "mcpServers"`,
			`1: mcpServer: unknown field, did you mean "mcpServers"? It is ignored`,
			`1: inputs: ignored: ${input:…} is not supported; use ${NAME} and set the variable`}},
		{"permissions", `{"permissions": {"deny": "x", "ask": [1, ""], "alow": [], "risk": {"a": "bad", "b": {}, "c": 1, "d": {"risk": "read", "hsh": "x"}}}}`, "", []string{
			`1: permissions.deny: expected a list of strings; write ["…"]`,
			`1: permissions.ask[0]: expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`,
			`1: permissions.ask[1]: an empty rule matches nothing; write one such as "mcp.fs.*" or remove it`,
			`1: permissions.alow: unknown field, did you mean "allow"? It is ignored`,
			`1: permissions.risk.a: expected one of read, write, network, execute, destructive`,
			`1: permissions.risk.b: the label is missing; write {"risk": "read"}`,
			`1: permissions.risk.c: expected a label; write "read" or {"risk": "read", "hash": "…"}`,
			`1: permissions.risk.d.hsh: unknown field, did you mean "hash"? It is ignored`}},
		{"log", `{"log": {"durability": "canary", "dir": "${NOPE}", "level": 1}}`, "", []string{
			`1: log.durability: expected "process" or "full"`, "1: log.dir: the variable NOPE is not set; set it or write ${NOPE:-default}",
			`1: log.level: unknown field, ignored; known are durability, dir`}},
		{"repeated rules", "{\"permissions\": {\"deny\": [],\n\"deny\": []}}", "", []string{`2: permissions.deny: this name is here twice; keep one of them`}},
		{"repeated key", "{\"mcpServers\": {},\n\"mcpServers\": {}}", "", []string{`2: mcpServers: this name is here twice; keep one of them`}},
		{"repeated elsewhere", `{"x": [{"[0]": {"a": 1, "\u0061": 2}}]}`, "", []string{`1: x[0]["[0]"].a: this name is here twice; keep one of them`}},
		{"comma", "{\"mcpServers\": {}\n\"log\": {}}", "", []string{`2:1: invalid character '"' after object value (expecting ',' or '}'); is a comma missing before it?`}},
		{"end", "{\"mcpServers\": {", "", []string{`1:17: the file ends too early; close every { [ " and comment`}},
		{"string", "{\"é\": \"canary\\x\"}", "", []string{`1:7: this string is broken; end it with " on the same line and write a backslash as \\`}},
		{"literal", "{\"a\": canary}", "", []string{`1:7: this is no value; put text into "…", or write a number, true, false or null`}},
		{"name", "{a: 1}", "", []string{`1:2: this is no value; put text into "…", or write a number, true, false or null`}},
		{"number as name", "{1: 1}", "", []string{`1:2: invalid character '1' at start of object name; write "name": value`}},
		{"colon", "{\"a\" 1}", "", []string{`1:6: invalid character '1' after object name; write "name": value`}},
		{"not an object", " []", "", []string{`1:2: expected an object; write {"mcpServers": {…}}`}},
		{"rest", "{} {}", "", []string{`1:4: invalid character '{' after top-level value; correct the JSON here`}},
		{"UTF-8", "{\"\u00e9\": \"\xff\"}", "", []string{`1:8: a byte that is not UTF-8; save the file as UTF-8`}},
		{"long line", "\n{\"" + strings.Repeat("\u00e9", 3000) + "\": x}", "", []string{`2:3006: this is no value; put text into "…", or write a number, true, false or null`}},
		{"UTF-16", "\xff\xfe{\x00}\x00", "", []string{`1:1: the file is UTF-16; save it as UTF-8`}},
		{"depth", `{"a": ` + deep, "", []string{`1:134: nested more than 128 deep; remove the levels below`}},
		{"size", strings.Repeat(" ", maxSize+1), "", []string{`1:1: the file is larger than 4 MiB; that can't be a config, check the path`}},
	} {
		t.Run(m.name, m.check)
	}
}
