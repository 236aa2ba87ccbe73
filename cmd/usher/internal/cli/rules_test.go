package cli

import (
	"strings"
	"testing"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
)

// What a rule is doubted for, and what it is not, since its server may bring the tool later.
func TestDoubt(t *testing.T) {
	w := surroundings{servers: []string{"a.b", "down", "fs"}, up: map[string]bool{"fs": true, "a.b": true}, tools: []usher.Tool{
		{Name: "local.read_file", Model: "read_file"},
		{Name: "mcp.fs.move_file", Model: "mcp__fs__move_file", Server: "fs"},
		{Name: "mcp.a.b.c", Model: "mcp__a_b__c", Server: "a.b"},
	}}
	for _, c := range []struct{ list, pattern, want string }{
		{"allow", "mcp.fs.*", ""},
		{"allow", "mcp.fs", ""},
		{"deny", "mcp.a.b.c", ""},
		{"allow", "mcp__fs__move_*", ""},
		{"allow", "mcp.*.mov*", ""},
		{"allow", "*", ""},
		{"allow", "read_file", ""},
		{"allow", "local__read_*", ""},
		{"deny", "mcp.down.x", ""},
		{"deny", "mcp.*.delete_*", ""}, // the server that is down may have it
		{"deny", "mcp.fs.mve_file", "no tool of fs matches it; did you mean mcp.fs.move_file?"},
		{"deny", "mcp__fs__mve_file", "no tool of fs matches it; did you mean mcp__fs__move_file?"},
		{"deny", "mcp.down.x?", "only * is a wildcard"},
		{"deny", "mcp.fs.[a-m]*", "only * is a wildcard"},
		{"allow", "mcp.sf.*", `no server is called "sf"; did you mean mcp.fs.*?`},
		{"allow", "move_file", `no built-in tool is called "move_file"; a server's tools are named mcp.SERVER.TOOL; did you mean mcp.fs.move_file?`},
		{"allow", "fs.*", "no built-in tool matches it"},
		{"allow", "local.raed_file", "did you mean local.read_file?"},
		{"allow", "mcp*", "as an allow rule"},
	} {
		got := w.doubt(listedRule{c.list, config.Rule{Pattern: c.pattern}})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.list, c.pattern, got, c.want)
		}
	}
}

func TestOverrule(t *testing.T) {
	c := &config.Config{Servers: []config.Server{{Name: "fs"}, {Name: "a.b"}}}
	c.Permissions.Deny = []config.Rule{{Pattern: "mcp.fs.delete_*"}, {Pattern: "local.read_file"}}
	c.Permissions.Ask = []config.Rule{{Pattern: "mcp.a.b.*"}, {Pattern: "mcp.*.write"}}
	for _, c2 := range []struct{ list, pattern, want string }{
		{"allow", "mcp.fs.delete_x", "mcp.fs.delete_*"},
		{"allow", "mcp.fs.*", "mcp.fs.delete_*"},
		{"allow", "mcp.fs", "mcp.fs.delete_*"},
		{"allow", "mcp.fs.read", ""},
		{"allow", "read_file", "local.read_file"},
		{"allow", "mcp.a.b.c", "mcp.a.b.*"},
		{"allow", "mcp.fs.write", "mcp.*.write"},
		{"ask", "mcp.fs.write", ""},
		{"ask", "mcp.*", "mcp.fs.delete_*"},
		{"deny", "*", ""},
		{"allow", "*", "mcp.fs.delete_* local.read_file mcp.a.b.* mcp.*.write"},
	} {
		var got []string
		for _, r := range overrule(c, c2.list, c2.pattern) {
			got = append(got, r.Pattern)
		}
		if strings.Join(got, " ") != c2.want {
			t.Errorf("%s %s: %q, want %q", c2.list, c2.pattern, got, c2.want)
		}
	}
}

func TestTargetNamed(t *testing.T) {
	c := &config.Config{Servers: []config.Server{{Name: "a"}, {Name: "a.b"}}}
	for pattern, want := range map[string]permission.Target{
		"mcp.a.b.c": {Server: "a.b", Tool: "c"},
		"mcp.a.c":   {Server: "a", Tool: "c"},
		"mcp.a":     {Server: "a", Tool: "*"},
		"mcp__x__y": {Server: "x", Tool: "y"},
		"local.r":   {Tool: "r"},
	} {
		if got := targetNamed(c, pattern); got != want {
			t.Errorf("%s: %+v, want %+v", pattern, got, want)
		}
	}
}
