package foreign

import (
	"strings"
	"testing"
)

// What looks secret by its shape. None of these was ever valid.
func TestSecretSpans(t *testing.T) {
	for _, tc := range []struct{ text, rest string }{
		{"plain text", "plain text"},
		{"--token=ghp_" + strings.Repeat("a1", 15), "--token=•"},
		{"sk-" + strings.Repeat("ab1", 10), "•"},
		{"postgres://u:pw1@h/d?sslmode=off", "postgres://u:•@h/d?sslmode=off"},
		{"https://h/p?api_key=abcdef&x=1#f", "https://h/p?api_key=•&x=1#f"},
		{"https://h/p?tokens=5", "https://h/p?tokens=5"},
		{"https://h/s/0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0/mcp", "https://h/s/•/mcp"},
		{"Server=h;Password=x1;User=u", "Server=h;Password=•;User=u"},
		{"Authorization: Bearer abcdefgh12", "Authorization: Bearer •"},
		{"@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-everything@2026.8.31"},
		{"mcp-server-kubernetes-linux-amd64", "mcp-server-kubernetes-linux-amd64"},
		{"ghcr.io/x/y@sha256:" + strings.Repeat("0a1b2c", 10), "ghcr.io/x/y@sha256:" + strings.Repeat("0a1b2c", 10)},
		{"git+https://github.com/x/y@" + strings.Repeat("0a1b2c", 6), "git+https://github.com/x/y@" + strings.Repeat("0a1b2c", 6)},
		{"/home/u/.local/share/some_long_folder_name_2", "/home/u/.local/share/some_long_folder_name_2"},
	} {
		var b strings.Builder
		last := 0
		for _, s := range secretSpans(tc.text) {
			b.WriteString(tc.text[last:s.from] + "•")
			last = s.to
		}
		b.WriteString(tc.text[last:])
		if b.String() != tc.rest {
			t.Errorf("%s: got %s, want %s", tc.text, b.String(), tc.rest)
		}
	}
}

func TestHarmless(t *testing.T) {
	for _, s := range []string{"", "true", "8080", "/etc/key.pem", "~/.aws/credentials", "https://auth.example/", "basic"} {
		if !harmless(s) {
			t.Errorf("%q counts as a secret", s)
		}
	}
	for _, s := range []string{"hunter2", "https://u:p@h/", "123456", "abc/def+ghi="} {
		if harmless(s) {
			t.Errorf("%q doesn't count as a secret", s)
		}
	}
}

// A text of a product is never taken for a reference of usher's.
func TestDialects(t *testing.T) {
	for _, tc := range []struct {
		name     string
		values   dialect
		in, want string
	}{
		{"desktop", literal, "${X}", "$${X}"},
		{"claude", ofClaude, "${X} ${X:-d} ${x.y} $X", "${X} ${X:-d} $${x.y} $X"},
		{"vscode", ofEditor(true), "${X} ${env:X} ${env:TOKEN} ${input:none}", "$${X} ${X:-} ${TOKEN} $${input:none}"},
		{"cursor", ofEditor(false), "${input:x} ${userHome}", "$${input:x} ${HOME}"},
		{"gemini", ofShell, "$X ${X} ${X:-d} %X% $(X)", "${X:-} ${X:-} ${X:-d} %X% $(X)"},
		{"opencode", ofOpencode, "{env:X} ${X} {file:./s}", "${X:-} $${X} ${keyring:s/leaf}"},
		{"crush", ofCrush, "a $X `cmd` b", "a ${X:-} ${keyring:s/leaf}"},
		{"continue", ofContinue, "${{ secrets.A }} ${{ inputs.b-c }} ${X}", "${keyring:A} ${B_C} $${X}"},
	} {
		r := &reader{out: &Reading{}, root: &node{kind: isObject}}
		d := &draft{reader: r, plain: map[string]string{}}
		d.e.Name = "s"
		if got := d.say(tc.in, "leaf", Where{}, false, tc.values); got != tc.want {
			t.Errorf("%s: %s is %s, want %s", tc.name, tc.in, got, tc.want)
		}
	}
}
