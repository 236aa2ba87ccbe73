package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type editCase struct{ name, op, in, want string }

// edit runs "allow PATTERN" or "risk TOOL LABEL HASH", where - is no hash.
func edit(path, op string) error {
	w := strings.Fields(op)
	if w[0] == "risk" {
		return SetRisk(path, w[1], w[2], strings.TrimPrefix(w[3], "-"))
	}
	_, err := AddRule(path, w[0], w[1])
	return err
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEditLayout(t *testing.T) {
	for _, tt := range editCases() {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.in)
			for range 2 { // the second changes nothing
				if err := edit(path, tt.op); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, read(t, path)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if cfg, err := Load(path, nil); err != nil || len(cfg.Problems) > 0 {
				t.Errorf("reads as %+v, %v", cfg, err)
			}
		})
	}
}

// What AddRule writes is the old file with something put in: taking out the
// bytes that are new, in order, leaves the old one, and every other rule is there.
func TestAddRuleKeepsEveryOtherByte(t *testing.T) {
	for _, tt := range editCases() {
		for _, list := range []string{"deny", "ask", "allow"} {
			path := write(t, tt.in)
			for _, pattern := range []string{"mcp.x.*", "é\\\"", "mcp.y"} {
				old := read(t, path)
				before, err := Load(path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if changed, err := AddRule(path, list, pattern); err != nil || !changed {
					t.Fatalf("%s: %v, %v", tt.name, changed, err)
				}
				now := read(t, path)
				if !contains(now, old) {
					t.Errorf("%s: bytes of\n%s\nare lost in\n%s", tt.name, old, now)
				}
				after, err := Load(path, nil)
				if err != nil || patterns(after, list) != patterns(before, list)+pattern+"\n" {
					t.Errorf("%s: rules %q, then %q; %v", tt.name, patterns(before, list), patterns(after, list), err)
				}
			}
		}
	}
}

// contains says whether old is a subsequence of now, in at most three pieces cut
// by what was put in.
func contains(now, old string) bool {
	for i := range len(old) + 1 {
		if !strings.HasPrefix(now, old[:i]) {
			return false
		}
		rest := strings.TrimPrefix(now[i:], ",")
		for j := i; j <= len(old); j++ {
			if !strings.HasPrefix(rest, old[i:j]) {
				break
			}
			if strings.HasSuffix(rest[j-i:], old[j:]) {
				return true
			}
		}
	}
	return false
}

func patterns(c *Config, list string) string {
	rules := map[string][]Rule{"deny": c.Permissions.Deny, "ask": c.Permissions.Ask, "allow": c.Permissions.Allow}
	var b strings.Builder
	for _, r := range rules[list] {
		b.WriteString(r.Pattern + "\n")
	}
	return b.String()
}

func TestEditRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{"permissions": {"allow": ["a"]}`:               "ends too early",
		`{"permissions": {"allow": "a"}}`:                ":1: permissions.allow: expected a list of strings",
		`{"permissions": []}`:                            ":1: permissions: expected an object",
		`{"permissions": {}, "permissions": {}}`:         ":1: permissions: this name is here twice",
		`{"permissions": {"allow": ["a"], "allow": []}}`: ":1: permissions.allow: this name is here twice",
		"\xff\xfe{":                         "UTF-16",
		`[]`:                                "expected an object",
		`{"a": ` + strings.Repeat("[", 200): "nested more than 128 deep",
		`{"permissions": {"allow": ["x"], "risk": "high"}}`: "",
	} {
		path := write(t, in)
		_, err := AddRule(path, "allow", "mcp.x")
		var p *Problem
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", in, err)
		case want != "" && (!errors.As(err, &p) || !strings.Contains(err.Error(), want) || read(t, path) != in):
			t.Errorf("%s: %v\nnow %s", in, err, read(t, path))
		}
	}
	path := write(t, "{}")
	for _, bad := range [][2]string{{"alow", "a"}, {"allow", ""}, {"allow", "a\nb"}, {"allow", "\xff"}, {"allow", strings.Repeat("x", 2000)}} {
		if _, err := AddRule(path, bad[0], bad[1]); err == nil || read(t, path) != "{}" {
			t.Errorf("AddRule(%q) did not fail", bad)
		}
	}
	if err := errors.Join(SetRisk(path, "", "read", ""), SetRisk(path, "t", "high", ""), SetRisk(path, "t", "read", "\n")); err == nil ||
		len(strings.Split(err.Error(), "\n")) != 3 || read(t, path) != "{}" {
		t.Errorf("SetRisk: %v", err)
	}
	if _, err := AddRule(filepath.Dir(path), "allow", "a"); err == nil {
		t.Error("a folder was edited")
	}
}

func TestEditModesAndLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "deep", "c.json")
	if err := edit(path, "allow a"); err != nil {
		t.Fatal(err)
	}
	mode := func(p string, want fs.FileMode) {
		t.Helper()
		if info, err := os.Lstat(p); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	mode(path, 0o600)
	mode(filepath.Dir(path), 0o700|fs.ModeDir)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link, dangling := filepath.Join(dir, "link.json"), filepath.Join(dir, "dangling.json")
	if err := errors.Join(os.Symlink("new/deep/c.json", link), os.Symlink("made/x.json", dangling)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(edit(link, "allow b"), edit(dangling, "allow c")); err != nil {
		t.Fatal(err)
	}
	mode(path, 0o640)
	if got := read(t, path); !strings.Contains(got, `["a", "b"]`) {
		t.Errorf("got %s", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if got := read(t, filepath.Join(dir, "made", "x.json")); !strings.Contains(got, `["c"]`) {
		t.Errorf("got %s", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "new", "deep", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func FuzzEdit(f *testing.F) {
	for _, tt := range editCases() {
		f.Add([]byte(tt.in), "mcp.x.*")
	}
	f.Add([]byte(full), "a\"b")
	f.Fuzz(func(t *testing.T, in []byte, pattern string) {
		if badPattern(pattern) != "" {
			return
		}
		plan := func(d *document, _ bool) ([]change, error) { return d.addRule("allow", Rule{Pattern: pattern}) }
		out, err := edited("c", in, plan)
		if err == nil && out != nil && !contains(string(out), string(in)) {
			t.Errorf("bytes of\n%q\nare lost in\n%q", in, out)
		}
		var p *Problem
		if err != nil && (!errors.As(err, &p) || bytes.Contains([]byte(err.Error()), []byte("would not"))) {
			t.Errorf("%q: %v", in, err)
		}
	})
}
