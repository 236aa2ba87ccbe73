package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// The reader of rules takes anything; a rule that it can't read forbids and doesn't allow; what an allow rule takes, a
// deny rule that is written alike refuses.
func FuzzRule(f *testing.F) {
	for _, pattern := range []string{"mcp.fs.write(path:/etc/**, mode:w)", "mcp__a__*", "*(*)", "a(b:c\\,d\\\\)", "(", "x(:)", "*(a.b:1e3)", "*(u:https://*.x/**)", "*(a:**a*b**)"} {
		f.Add(pattern, `{"path":"/etc/x","mode":"w","a":{"b":1000},"u":"https://y.x/z"}`)
	}
	f.Fuzz(func(t *testing.T, pattern, args string) {
		target := Target{"fs", "write"}
		call := Call{Target: target, Risk: Network, Args: json.RawMessage(args)}
		allowed := (&Policy{Allow: []Rule{{Pattern: pattern}}}).Decide(call).Effect == Allow
		denied := (&Policy{Deny: []Rule{{Pattern: pattern}}}).Decide(call).Effect == Deny
		if allowed && !denied {
			t.Fatal("it allows what it doesn't deny")
		}
		if err := CheckPattern(pattern); err != nil {
			if allowed {
				t.Fatal("a rule that can't be read allows")
			}
			if (Rule{Pattern: pattern}).Reaches(target) && !denied {
				t.Fatal("a rule that can't be read doesn't deny")
			}
		}
	})
}

// What an allow rule with a folder takes is in that folder, however it is read.
func FuzzAllowedPath(f *testing.F) {
	for _, s := range []string{"/a/b/c", "/a/b/../c", "/a/b/%2e%2e/c", "/a/b/．．/c", "/a/b\\..\\c", "/a/bc", "/a/b/..;/x", "/a/b/\x00"} {
		f.Add(s)
	}
	deny := &Policy{Deny: []Rule{{Pattern: "*(path:/a/b/**)"}}}
	allow := &Policy{Allow: []Rule{{Pattern: "*(path:/a/b/**)"}}}
	f.Fuzz(func(t *testing.T, s string) {
		args, err := json.Marshal(map[string]string{"path": s})
		if err != nil {
			t.Fatal(err)
		}
		call := Call{Target: Target{"fs", "write"}, Risk: Network, Args: args}
		if allow.Decide(call).Effect != Allow {
			return
		}
		if deny.Decide(call).Effect != Deny {
			t.Fatal("allowed, and not in the folder")
		}
		for _, form := range forms(nil, s, nil) {
			if strings.Contains(form, "..") && strings.Contains("/"+strings.ReplaceAll(form, `\`, "/")+"/", "/../") {
				t.Fatalf("it may be read as %q", form)
			}
		}
	})
}

// A value that is taken for plain has no other form.
func FuzzForms(f *testing.F) {
	for _, s := range []string{"a/b.go", "/a/b", "A-b_1", "1", "-1", "a/", "a//b", "./a", "a.", "/.a", "a/..", "a b", "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isPlain(s) {
			return
		}
		if all := addPath([]string{fold(s)}, s); len(all) != 1 || number(s) != "" {
			t.Fatalf("%q", all)
		}
	})
}
