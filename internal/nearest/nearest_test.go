package nearest

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1},
		{"kitten", "sitting", 3}, {"abcd", "badc", 2}, {"x", strings.Repeat("y", 50), 50},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestName(t *testing.T) {
	known := []string{"mcp.fs.read_text_file", "mcp.fs.list", "commandLine"}
	for name, want := range map[string]string{
		"mcp.fs.raed_text_file": "mcp.fs.read_text_file", "COMMANDLINE": "commandLine", "zzz": "", strings.Repeat("x", 300): "",
	} {
		if got := Name(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
