package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var (
	hashA = "sha256:" + strings.Repeat("a", 64)
	hashB = "sha256:" + strings.Repeat("b", 64)
)

func grantText(tool string) string {
	return `{"tool": "` + tool + `", "entry": "` + hashA + `", "definition": "` + hashB + `"}`
}

// permissionEdit runs "bind LIST RULE", "grant TOOL [PACKAGE]", "revoke TOOL" or "mode MODE".
func permissionEdit(path, op string) (bool, error) {
	w := append(strings.Fields(op), "")
	switch w[0] {
	case "bind":
		return AddBoundRule(path, w[1], w[2], hashA)
	case "grant":
		return AddGrant(path, Grant{Tool: w[1], Entry: hashA, Definition: hashB, Package: w[2]})
	case "revoke":
		return RemoveGrant(path, w[1])
	}
	return SetMode(path, w[1])
}

func permissionEdits() []editCase {
	a, b, c := grantText("mcp.s.a"), grantText("mcp.s.b"), grantText("mcp.s.c")
	packaged := strings.Replace(a, "}", `, "package": "npm:x@1.0.0"}`, 1)
	bound := `{"rule": "mcp.s.*", "entry": "` + hashA + `"}`
	lines := func(grants string) string {
		return "{\n  // mine\n  \"permissions\": {\n    \"grants\": [\n" + grants + "    ], // all\n    \"deny\": [\"x\"]\n  }\n}\n"
	}
	return []editCase{
		{"grant-no-file", "grant mcp.s.a", "", "{\n  \"permissions\": {\n    \"grants\": [\n      " + a + "\n    ]\n  }\n}\n"},
		{"grant-first", "grant mcp.s.a", "{\n  \"permissions\": {\n    \"deny\": [\"x\"] // why\n  }\n}\n",
			"{\n  \"permissions\": {\n    \"deny\": [\"x\"], // why\n    \"grants\": [\n      " + a + "\n    ]\n  }\n}\n"},
		{"grant-another", "grant mcp.s.b", lines("      " + a + " // a\n"), lines("      " + a + ", // a\n      " + b + "\n")},
		{"grant-again", "grant mcp.s.a", lines("      " + a + " // a\n"), lines("      " + a + " // a\n")},
		{"grant-anew", "grant mcp.s.a npm:x@1.0.0", lines("      " + a + ", // a\n      " + b + ", // b\n"), lines("      " + packaged + ", // a\n      " + b + ", // b\n")},
		{"grant-of-several", "grant mcp.s.a npm:x@1.0.0", lines("      " + a + ",\n      " + b + ",\n      " + a + "\n"), lines("      " + packaged + ",\n      " + b + "\n")},
		{"grant-minified", "grant mcp.s.a", `{"permissions":{"allow":["x"]}}`, `{"permissions":{"allow":["x"],"grants":[` + strings.NewReplacer(": ", ":", ", ", ",").Replace(a) + `]}}`},
		{"revoke-first", "revoke mcp.s.a", lines("      " + a + ", // a\n      " + b + " // b\n"), lines("      " + b + " // b\n")},
		{"revoke-last", "revoke mcp.s.b", lines("      " + a + ", // a\n      " + b + " // b\n"), lines("      " + a + " // a\n")},
		{"revoke-only", "revoke mcp.s.a", lines("      " + a + " // a\n"), lines("")},
		{"revoke-all", "revoke mcp.s.a", lines("      " + a + ",\n      " + a + "\n"), lines("")},
		{"revoke-some", "revoke mcp.s.a", lines("      " + a + ",\n      " + c + ",\n      " + a + ",\n      " + a + "\n"), lines("      " + c + "\n")},
		{"revoke-trailing-comma", "revoke mcp.s.a", lines("      " + b + ",\n      " + a + ",\n      " + a + ",\n"), lines("      " + b + ",\n")},
		{"revoke-inline", "revoke mcp.s.a", `{"permissions": {"grants": [` + a + `, ` + b + `, ` + a + `]}}`, `{"permissions": {"grants": [` + b + `]}}`},
		{"revoke-none", "revoke mcp.s.x", lines("      " + a + "\n"), lines("      " + a + "\n")},
		{"revoke-no-list", "revoke mcp.s.x", `{"permissions": {}}`, `{"permissions": {}}`},
		{"revoke-no-file", "revoke mcp.s.x", "", ""},

		{"bind", "bind allow mcp.s.*", "{\n  \"permissions\": {\n    \"allow\": [\"mcp.s.*\"] // mine\n  }\n}\n",
			"{\n  \"permissions\": {\n    \"allow\": [\"mcp.s.*\", " + bound + "] // mine\n  }\n}\n"},
		{"bind-again", "bind allow mcp.s.*", `{"permissions": {"allow": [{"entry": "` + hashA + `", "rule": "mcp.s.*"}]}}`, `{"permissions": {"allow": [{"entry": "` + hashA + `", "rule": "mcp.s.*"}]}}`},
		{"bind-beside-a-condition", "bind allow mcp.s.*", `{"permissions": {"allow": [{"rule": "mcp.s.*", "when": "true"}]}}`, `{"permissions": {"allow": [{"rule": "mcp.s.*", "when": "true"}, ` + bound + `]}}`},
		{"bind-no-file", "bind deny mcp.s.*", "", "{\n  \"permissions\": {\n    \"deny\": [" + bound + "]\n  }\n}\n"},

		{"mode", "mode plan", "{\n  // mine\n  \"permissions\": {\n    \"mode\": \"bypass\", // for now\n  }\n}\n", "{\n  // mine\n  \"permissions\": {\n    \"mode\": \"plan\", // for now\n  }\n}\n"},
		{"mode-again", "mode plan", `{"permissions": {"mode": "pl\u0061n"}}`, `{"permissions": {"mode": "pl\u0061n"}}`},
		{"mode-new", "mode dont-ask", "{}\n", "{\n  \"permissions\": {\n    \"mode\": \"dont-ask\"\n  }\n}\n"},
		{"mode-broken", "mode default", `{"permissions": {"mode": [1]}}`, `{"permissions": {"mode": "default"}}`},
	}
}

func TestPermissionEdits(t *testing.T) { // F4, F7
	for _, tt := range permissionEdits() {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.in)
			changed, err := permissionEdit(path, tt.op)
			if err != nil || changed != (tt.in != tt.want) {
				t.Fatalf("changed %v, %v", changed, err)
			}
			if got := read(t, path); got != tt.want {
				t.Fatalf("got:\n%s\nwant:\n%s", got, tt.want)
			}
			if changed, err := permissionEdit(path, tt.op); changed || err != nil {
				t.Errorf("again: changed %v, %v", changed, err)
			}
			if cfg, err := Load(path, nil); err != nil || len(cfg.Problems) > 0 && tt.name != "mode-broken" {
				t.Errorf("%v %v", err, cfg.Problems)
			}
		})
	}
}

func TestRefusedPermissionEdits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for what, edit := range map[string]func() (bool, error){
		"list":       func() (bool, error) { return AddBoundRule(path, "grants", "mcp.s.a", hashA) },
		"entry":      func() (bool, error) { return AddBoundRule(path, "allow", "mcp.s.a", "sha256:1") },
		"rule":       func() (bool, error) { return AddBoundRule(path, "allow", " ", hashA) },
		"mode":       func() (bool, error) { return SetMode(path, "yolo") },
		"wildcard":   func() (bool, error) { return AddGrant(path, Grant{Tool: "mcp.s.*", Entry: hashA, Definition: hashA}) },
		"no tool":    func() (bool, error) { return AddGrant(path, Grant{Entry: hashA, Definition: hashA}) },
		"no entry":   func() (bool, error) { return AddGrant(path, Grant{Tool: "mcp.s.a", Definition: hashA}) },
		"definition": func() (bool, error) { return AddGrant(path, Grant{Tool: "mcp.s.a", Entry: hashA}) },
		"package": func() (bool, error) {
			return AddGrant(path, Grant{Tool: "mcp.s.a", Entry: hashA, Definition: hashA, Package: "a\nb"})
		},
	} {
		if changed, err := edit(); changed || err == nil {
			t.Errorf("%s: changed %v, %v", what, changed, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made")
	}
	for in, want := range map[string]string{
		`{"permissions": {"grants": {}}}`: ":1: permissions.grants: expected a list of grants; write [] here first",
		`{"permissions": []}`:             ":1: permissions: expected an object",
	} {
		path := write(t, in)
		if _, err := AddGrant(path, Grant{Tool: "mcp.s.a", Entry: hashA, Definition: hashA}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
		if read(t, path) != in {
			t.Errorf("%s: written", in)
		}
	}
}

// All kinds of edits at once, of one file: none of them loses another.
func TestConcurrentGrantsAndRules(t *testing.T) {
	path := write(t, "{\n  // mine\n  \"permissions\": {}\n}\n")
	var wg sync.WaitGroup
	const n = 8
	run := func(op string) {
		wg.Go(func() {
			if changed, err := permissionEdit(path, op); err != nil || !changed {
				t.Errorf("%s: changed %v, %v", op, changed, err)
			}
		})
	}
	for i := range n {
		run(fmt.Sprintf("grant mcp.s.t%d", i))
		run(fmt.Sprintf("bind ask mcp.s.t%d", i))
	}
	run("mode plan")
	wg.Wait()
	cfg, err := Load(path, nil)
	if err != nil || len(cfg.Problems) > 0 {
		t.Fatal(err, cfg.Problems)
	}
	if p := cfg.Permissions; len(p.Grants) != n || len(p.Ask) != n || p.Mode != ModePlan {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(read(t, path), "// mine") {
		t.Error("the comment is gone")
	}
}
