package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// O5: a member of another product's file is set and taken out, and all else stays.
func TestEditMembers(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"nothing", "", "{\n  \"a\": {\n    \"x\": {\n      \"k\": [\"v\"]\n    }\n  }\n}\n"},
		{"comment", "// c", "// c\n{\n  \"a\": {\n    \"x\": {\n      \"k\": [\"v\"]\n    }\n  }\n}\n"},
		{"empty", "{}", "{\n  \"a\": {\n    \"x\": {\n      \"k\": [\"v\"]\n    }\n  }\n}"},
		{"one line", `{"b":1}`, `{"b":1,"a":{"x":{"k":["v"]}}}`},
		{"siblings", "{\"a\": {\n\t\"y\": { \"k\": [] },\n}}", "{\"a\": {\n\t\"y\": { \"k\": [] },\n\t\"x\": {\"k\": [\"v\"]},\n}}"},
		{"lists", "{\"a\": {\n \"y\": {\n  \"k\": [\n   1\n  ]\n }\n}}", "{\"a\": {\n \"y\": {\n  \"k\": [\n   1\n  ]\n },\n \"x\": {\n   \"k\": [\n     \"v\"\n   ]\n }\n}}"},
		{"replaced", "{\"a\": {\"x\": 1 /* c */, \"y\": 2}}", "{\"a\": {\"x\": {\n  \"k\": [\"v\"]\n} /* c */, \"y\": 2}}"},
		{"as it was", "{\"a\": {\"x\": {\"z\": 1}}}", "{\"a\": {\"x\": {\"k\": [\"v\"]}}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := EditMembers("f", []byte(c.before), MemberEdit{Path: []string{"a", "x"}, Value: `{"k": ["v"]}`})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.after, string(got)); d != "" {
				t.Error(d)
			}
			members, err := Members("f", got, "a", "x")
			if err != nil || len(members) != 1 || strings.Join(strings.Fields(string(members[0].Value)), "") != `["v"]` {
				t.Error(members, err)
			}
		})
	}
	got, err := EditMembers("f", []byte(`{"a": {"x": 1, "y": 2,}}`), MemberEdit{Path: []string{"a", "y"}}, MemberEdit{Path: []string{"b", "z"}})
	if err != nil || string(got) != `{"a": {"x": 1, }}` && string(got) != `{"a": {"x": 1,}}` {
		t.Errorf("%s %v", got, err)
	}
}

// What isn't clear isn't changed.
func TestEditMembersRefuses(t *testing.T) {
	for _, text := range []string{`[]`, `{"a": 1}`, `{"a": {"x": 1, "x": 2}}`, `{"a": {}, "a": {}}`, `{`, "{\"a\": \"\xff\"}"} {
		if got, err := EditMembers("f", []byte(text), MemberEdit{Path: []string{"a", "x"}, Value: "1"}); err == nil {
			t.Errorf("%s became %s", text, got)
		}
	}
}
