package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const fields = `{
  "permissions": {
    "deny": ["mcp.a.*", {"rule": "mcp.b.*", "when": "risk == 'write' &&\n session != ''"}],
    "allow": [{"rule": "mcp.c.*", "entry": "HASH"}],
    "mode": "accept-reads",
    "grants": [
      {"tool": "mcp.fs.write_file", "entry": "HASH", "definition": "HASH", "package": "npm:x@1.2.3"},
      {"tool": "local.shell", "definition": "HASH"},
    ],
  },
  "approvals": {"wait": 0, "keep": "1h"},
  "flows": {"mode": "deny", "inherit": "10m", "labels": {"mcp.mail.*": ["untrusted", "private", "untrusted"], "mcp.fs.*": []}},
  "projects": {"~/p": {"mcpServers": {"p": {"command": "p"}}}},
}`

func TestNewFields(t *testing.T) { // F3 F4 F5 F7
	cfg, err := Parse("c", []byte(strings.ReplaceAll(fields, "HASH", hashA)), vars("HOME", "/home/u"))
	if err != nil || len(cfg.Problems) > 0 {
		t.Fatal(err, cfg.Problems)
	}
	want := Permissions{
		Deny: []Rule{{Pattern: "mcp.a.*", File: "c", Line: 3, Source: "user"},
			{Pattern: "mcp.b.*", When: "risk == 'write' &&\n session != ''", File: "c", Line: 3, Source: "user"}},
		Allow: []Rule{{Pattern: "mcp.c.*", Entry: hashA, File: "c", Line: 4, Source: "user"}},
		Mode:  ModeAcceptReads,
		Grants: []Grant{{"mcp.fs.write_file", hashA, hashA, "npm:x@1.2.3", "c", 7, "user"},
			{"local.shell", "", hashA, "", "c", 8, "user"}},
	}
	if diff := cmp.Diff(want, cfg.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if want := (Approvals{0, time.Hour}); cfg.Approvals != want {
		t.Errorf("approvals %v", cfg.Approvals)
	}
	flows := Flows{FlowsDeny, []FlowLabels{{"mcp.mail.*", []string{"private", "untrusted"}, "user", "c", 12}, {"mcp.fs.*", nil, "user", "c", 12}}, 10 * time.Minute}
	if diff := cmp.Diff(flows, cfg.Flows); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	if len(cfg.Servers) != 0 {
		t.Errorf("servers %v", cfg.Servers)
	}
}

func TestDefaultsOfNewFields(t *testing.T) {
	for in, want := range map[string]Approvals{
		`{}`:                                {25 * time.Second, 15 * time.Minute},
		`{"approvals": {}}`:                 {25 * time.Second, 15 * time.Minute},
		`{"approvals": {"wait": "0s"}}`:     {0, 15 * time.Minute},
		`{"approvals": {"wait": "30m"}}`:    {30 * time.Minute, 30 * time.Minute},
		`{"approvals": {"keep": "10s"}}`:    {10 * time.Second, 10 * time.Second},
		`{"flows": "off", "approvals": {}}`: {25 * time.Second, 15 * time.Minute},
	} {
		cfg, err := Parse("c", []byte(in), nil)
		if err != nil || len(cfg.Problems) > 0 || cfg.Approvals != want {
			t.Errorf("%s: %v %v", in, err, cfg)
		}
		mode := FlowsAsk
		if strings.Contains(in, "off") {
			mode = FlowsOff
		}
		if want := (Flows{Mode: mode, Inherit: time.Hour}); !cmp.Equal(cfg.Flows, want) {
			t.Errorf("%s: %v", in, cfg.Flows)
		}
	}
}

func TestMessagesForNewFields(t *testing.T) { // F3 F4 F5 F7 G1
	const rule, when, flow = `{"permissions": {"deny": [`, `{"permissions": {"ask": [{"rule": "a", `, `{"flows": {`
	grant := func(s string) string { return `{"permissions": {"grants": [` + s + `]}}` }
	for _, m := range []message{
		{"rule kinds", rule + `1, null, true, [], {}, "x"]}}`, "", []string{
			`1: permissions.deny[0]: expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`,
			`1: permissions.deny[1]: expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`,
			`1: permissions.deny[2]: expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`,
			`1: permissions.deny[3]: expected a rule; write "mcp.fs.*" or {"rule": "mcp.fs.*", "when": "…"}`,
			`1: permissions.deny[4]: the rule is missing; write {"rule": "mcp.fs.*", …}`}},
		{"pattern", rule + `{"rule": 1}, {"rule": ""}, {"pattern": "a"}]}}`, "", []string{
			`1: permissions.deny[0].rule: expected a string; write "…"`,
			`1: permissions.deny[1].rule: an empty rule matches nothing; write one such as "mcp.fs.*" or remove it`,
			`1: permissions.deny[2].pattern: not read here; write "rule"`}},
		{"condition", when + `"when": 1}, {"rule": "a", "when": " "}, {"rule": "a", "when": "\u0007"}, {"rule": "a", "wen": "x"}, {"rule": "a", "colour": 1}, {"rule": "a", "if": "x"}]}}`, "", []string{
			`1: permissions.ask[0].when: expected a string; write "…"`,
			`1: permissions.ask[1].when: an empty condition says nothing; write one such as "session != ''", or remove it`,
			`1: permissions.ask[2].when: a condition has no control characters; remove them`,
			`1: permissions.ask[3].wen: unknown field, did you mean "when"? The rule is left out`,
			`1: permissions.ask[4].colour: unknown field, and the rule is left out; known are rule, when, entry`,
			`1: permissions.ask[5].if: not read here; write "when"`}},
		{"long condition", when + `"when": "` + strings.Repeat("x", maxCondition+1) + `"}]}}`, "", []string{
			`1: permissions.ask[0].when: a condition is at most 8192 bytes; make several rules of it`}},
		{"entry", when + `"entry": 1}, {"rule": "a", "entry": "sha256:1"}, {"rule": "a", "entry": ""}]}}`, "", []string{
			`1: permissions.ask[0].entry: ` + badHash, `1: permissions.ask[1].entry: ` + badHash, `1: permissions.ask[2].entry: ` + badHash}},
		{"mode kinds", `{"permissions": {"mode": 1}}`, "", []string{`1: permissions.mode: expected "default", "accept-reads", "plan", "dont-ask" or "bypass"`}},
		{"mode", `{"permissions": {"mode": "dontAsk"}}`, "", []string{`1: permissions.mode: unknown mode, did you mean "dont-ask"?`}},
		{"mode elsewhere", `{"mode": "plan", "permissions": {"defaultMode": "plan", "modes": ["plan"]}}`, "", []string{
			`1: mode: not read here; put it into "permissions"`,
			`1: permissions.defaultMode: not read here; write "mode"`,
			`1: permissions.modes: ignored: only an administrator's file can say this`}},
		{"grants kinds", `{"permissions": {"grants": {}}}`, "", []string{`1: permissions.grants: expected a list of grants; usher allow writes them`}},
		{"grant kinds", grant(`"a", 1, {}, {"tool": 1}, {"tool": "a", "definition": 1}, {"tool": "a", "definition": "HASH", "package": 1}`), "", []string{
			`1: permissions.grants[0]: expected an object; write {"tool": "…", "entry": "sha256:…", "definition": "sha256:…"}`,
			`1: permissions.grants[1]: expected an object; write {"tool": "…", "entry": "sha256:…", "definition": "sha256:…"}`,
			`1: permissions.grants[2]: names no tool; write {"tool": "mcp.fs.write_file", …}`,
			`1: permissions.grants[3].tool: expected a string; write "…"`,
			`1: permissions.grants[4].definition: ` + badHash,
			`1: permissions.grants[5].package: expected a string; write "…"`}},
		{"grant", grant(`{"tool": "mcp.s.*", "definition": "HASH"}, {"tool": "mcp.s.a", "definition": "HASH"}, {"tool": "mcp.s.a", "entry": "HASH"}, {"tool": "a", "definition": "HASH", "packge": "x"}, {"tool": "a", "definition": "HASH", "package": "a\nb"}`), "", []string{
			`1: permissions.grants[0].tool: a grant is for one tool; put a pattern into "allow"`,
			`1: permissions.grants[1]: has no "entry", the hash of the server's entry that was allowed; usher allow writes it`,
			`1: permissions.grants[2]: has no "definition", the hash of the tool that was allowed; usher allow writes it`,
			`1: permissions.grants[3].packge: unknown field, did you mean "package"? It is ignored`,
			`1: permissions.grants[4].package: expected short text without control characters, such as "npm:name@1.2.3"`}},
		{"approvals kinds", `{"approvals": "25s"}`, "", []string{`1: approvals: expected an object; write {"wait": "25s", "keep": "15m"}`}},
		{"approvals", `{"approvals": {"wait": "2h", "keep": 0, "wat": 1}}`, "", []string{
			`1: approvals.wait: a time is from 0s to 1h here; a number is milliseconds`,
			`1: approvals.keep: a time is from 1s to 168h here; a number is milliseconds`,
			`1: approvals.wat: unknown field, did you mean "wait"? It is ignored`}},
		{"approvals times", `{"approvals": {"wait": true, "keep": "soon"}}`, "", []string{`1: approvals.wait: ` + badTime, `1: approvals.keep: ` + badTime}},
		{"approvals together", `{"approvals": {"wait": "1m", "keep": "1s"}}`, "", []string{`1: approvals.keep: is shorter than wait; write a longer time`}},
		{"flows kinds", `{"flows": false}`, "", []string{`1: flows: expected "off", "ask" or "deny", or an object; write {"mode": "ask", "labels": {"mcp.mail.*": ["private"]}}`}},
		{"flows mode", `{"flows": "on"}`, "", []string{`1: flows: expected "off", "ask" or "deny"; ask is in force`}},
		{"flows fields", flow + `"mode": true, "inherit": "8760h", "labls": {}, "labels": []}}`, "", []string{
			`1: flows.mode: expected "off", "ask" or "deny"; ask is in force`,
			`1: flows.inherit: a time is from 0s to 168h here; a number is milliseconds`,
			`1: flows.labls: unknown field, did you mean "labels"? It is ignored`,
			`1: flows.labels: expected an object; write {"mcp.mail.*": ["private", "untrusted", "egress"]}`}},
		{"flows labels", flow + `"labels": {"": [], "mcp.a.*": "private", "mcp.b.*": ["secret", 1], "mcp.c.*": ["private", "x"]}}}`, "", []string{
			`1: flows.labels[""]: an empty rule matches nothing; write one such as "mcp.fs.*" or remove it`,
			`1: flows.labels["mcp.a.*"]: expected a list of labels; write ["private"]`,
			`1: flows.labels["mcp.b.*"][0]: expected one of private, untrusted, egress`,
			`1: flows.labels["mcp.b.*"][1]: expected one of private, untrusted, egress`,
			`1: flows.labels["mcp.c.*"][1]: expected one of private, untrusted, egress`}},
		{"projects kinds", `{"projects": []}`, "", []string{`1: projects: expected an object; write {"/home/me/project": {"mcpServers": {…}}}`}},
		{"projects", `{"projects": {"p": {}, "/a/b": [], "/a/./b/": {}, "~/x": {}, "/home/u/x": {}}}`, "", []string{
			`1: projects.p: expected the whole path of a folder; write "/home/me/project" or "~/project"`,
			`1: projects["/a/b"]: expected an object; write {"mcpServers": {…}}`,
			`1: projects["/a/./b/"]: this folder is here twice, in two spellings; keep one of them`,
			`1: projects["/home/u/x"]: this folder is here twice, in two spellings; keep one of them`}},
		{"repeated in a rule", "{\"permissions\": {\"deny\": [{\"rule\": \"a\",\n\"rule\": \"b\"}]}}", "", []string{`2: permissions.deny[0].rule: this name is here twice; keep one of them`}},
	} {
		m.in = strings.ReplaceAll(m.in, "HASH", hashA)
		t.Run(m.name, m.check)
	}
}

// What is lost may have been a deny; what only allows, or remembers, may be lost without asking for all.
func TestIncompleteByNewFields(t *testing.T) {
	for in, want := range map[string]bool{
		`{"permissions": {"deny": [{"rule": "a", "wen": "b"}]}}`: true,
		`{"permissions": {"mode": "pln"}}`:                       true,
		`{"permissions": {"grants": [1]}}`:                       false,
		`{"permissions": {"grants": 1, "deny": 1}}`:              true,
		`{"permissions": {"modes": ["plan"]}}`:                   false,
		`{"projects": {"x": {"permissions": {"deny": ["a"]}}}}`:  true,
		`{"approvals": 1, "flows": 1}`:                           false,
	} {
		cfg, err := Parse("c", []byte(in), nil)
		if err != nil || cfg.Permissions.Incomplete != want {
			t.Errorf("%s: %v %v", in, cfg.Permissions.Incomplete, err)
		}
	}
}
