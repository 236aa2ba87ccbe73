package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "imported.json")
	write := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	for _, tc := range []struct {
		old, text, want string
		changed, fails  bool
	}{
		{old: "", text: "{}\n", want: "{}\n", changed: true},
		{old: "\ufeff{}", text: "{ }", want: "\ufeff{ }", changed: true},
		{old: "{}", text: "{}", want: "{}"},
		{old: "{}", text: "{", want: "{}", fails: true},
		{old: "{", text: "{}", want: "{", fails: true},
	} {
		if err := os.WriteFile(path, []byte(tc.old), 0o600); err != nil {
			t.Fatal(err)
		}
		changed, err := Rewrite(path, write(tc.text))
		got, _ := os.ReadFile(path)
		if changed != tc.changed || err != nil != tc.fails || string(got) != tc.want {
			t.Errorf("%q to %q: %q, changed %v, %v", tc.old, tc.text, got, changed, err)
		}
	}
}
