package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNothingActsOnTheTerminal(t *testing.T) {
	for _, c := range []struct{ in, line, lines string }{
		{"plain – 漢字 é", "plain – 漢字 é", "plain – 漢字 é"},
		{"\x1b[31mred\x07", `\x1b[31mred\x07`, `\x1b[31mred\x07`},
		{"a\u202eb\u2066c\u200f", `a\u{202e}b\u{2066}c\u{200f}`, `a\u{202e}b\u{2066}c\u{200f}`},
		{"a\nb\tc\r\nd", "a b c  d", "a\nb\tc\nd"},
		{"over\rwritten", "over written", `over\x0dwritten`},
		{"bad\xffbyte", `bad\xffbyte`, `bad\xffbyte`},
		{"\u009b31m", `\x9b31m`, `\x9b31m`},
		{"👩\u200d💻", `👩\u{200d}💻`, "👩\u200d💻"},
		{"tag\U000e0041", `tag\u{e0041}`, `tag\u{e0041}`},
		{"hangul\u3164filler", `hangul\u{3164}filler`, `hangul\u{3164}filler`},
	} {
		if got := line(c.in); got != c.line {
			t.Errorf("line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := lines(c.in); got != c.lines {
			t.Errorf("lines(%q) = %q, want %q", c.in, got, c.lines)
		}
	}
}

// F5: all bytes are shown, and they mean the same.
func TestPrettyJSONLosesNothing(t *testing.T) {
	raw := `{"b":1.0e2,"a":"x\u001b[2J` + "\u202e\U000e0041\u007f" + `","big":9007199254740993}`
	got := prettyJSON(json.RawMessage(raw))
	if strings.ContainsFunc(strings.NewReplacer("\n", "").Replace(got), hidden) {
		t.Errorf("something is hidden in %q", got)
	}
	for _, want := range []string{`"b": 1.0e2`, `\u001b[2J\u202e\udb40\udc41\u007f`, "9007199254740993"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	var a, b any
	if json.Unmarshal([]byte(raw), &a) != nil || json.Unmarshal([]byte(got), &b) != nil {
		t.Fatal("no JSON")
	}
	if x, y := a.(map[string]any)["a"], b.(map[string]any)["a"]; x != y {
		t.Errorf("%q became %q", x, y)
	}
}

func TestCutAndWrap(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 10, "short"},
		{"longer than it", 8, "longer…"},
		{"漢字漢字", 5, "漢字…"},
		{"anything", 0, "anything"},
	} {
		if got := cut(c.in, c.columns); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
		}
	}
	if got, want := wrap("one two three-is-too-long four", 4, 2, 10), "one\n  two\n  three-is-too-long\n  four"; got != want {
		t.Errorf("wrap: %q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"jira": "jira", "my server": "'my server'", "it's": `'it'\''s'`, "": "''", "a*": "'a*'"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
