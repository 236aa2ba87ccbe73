package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/permission"
)

// ask answers a question with what is typed, and returns what was shown.
func ask(t *testing.T, ctx context.Context, typed io.Reader, q permission.Question) (answer permission.Answer, shown string, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := &terminal{File: w}
	asker := &terminalAsker{in: bufio.NewReader(typed), to: to, progress: &progress{to: to}}
	answer, askErr := asker.Ask(ctx, q)
	w.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(all), askErr
}

// F5: only a clear yes is one, and for a destructive call it reaches no further than this call.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		typed string
		risk  permission.Risk
		allow bool
		scope permission.Scope
	}{
		{"y\n", permission.Write, true, permission.Once},
		{" YES \n", permission.Write, true, permission.Once},
		{"s\ny\n", permission.Write, true, permission.Once}, // not offered: asked again
		{"yse\nA\n", permission.Write, true, permission.Always},
		{"x\nx\ny\n", permission.Write, true, permission.Once},
		{"x\nx\nx\ny\n", permission.Write, false, permission.Once},
		{"y", permission.Write, false, permission.Once}, // input ended in the middle
		{"no\ny\n", permission.Write, false, permission.Once},
		{"a\n", permission.Write, true, permission.Always},
		{"n\n", permission.Write, false, permission.Once},
		{"\n", permission.Write, false, permission.Once},
		{"yeah\n", permission.Write, false, permission.Once},
		{"", permission.Write, false, permission.Once},
		{"y\n", permission.Destructive, true, permission.Once},
		{"a\ny\n", permission.Destructive, true, permission.Once},
		{"a\n", permission.Destructive, false, permission.Once},
	} {
		answer, shown, err := ask(t, t.Context(), strings.NewReader(c.typed), permission.Question{Risk: c.risk})
		if err != nil || answer.Allow != c.allow || answer.Scope != c.scope || answer.Via != "terminal" {
			t.Errorf("%q at %s: %+v, %v", c.typed, c.risk, answer, err)
		}
		if offered := strings.Contains(shown, "[a] always"); offered != (c.risk < permission.Destructive) {
			t.Errorf("always offered at %s: %v", c.risk, offered)
		}
	}
}

func TestQuestionShowsAll(t *testing.T) {
	_, shown, _ := ask(t, t.Context(), strings.NewReader("n\n"), permission.Question{
		Target: permission.Target{Server: "ji\x1bra", Tool: "write"}, Risk: permission.Write, Title: "Writes.\nAnd more.",
		Args: []byte(`{"text":"a\nb` + "\u202e" + `"}`),
		Rule: &permission.Rule{Pattern: "mcp.*", File: "f.json", Line: 7},
	})
	for _, want := range []string{
		"Run write?", `tool      mcp.ji\x1bra.write`, `server    ji\x1bra`, "risk      write", "asks      the rule mcp.* (f.json:7)",
		"it says   Writes.\n", `      "text": "a\nb\u202e"`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("something acts on the terminal: %q", shown)
	}
}

// After "always" a person reads which rule was written where, or that it wasn't.
func TestKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(file, []byte(`{"permissions": {"allow": ["mcp.a.b"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for always, want := range map[string]string{
		"":        "",
		"mcp.a.b": "wrote allow mcp.a.b in " + file + ":1\n",
		"mcp.a.c": "note: the rule for mcp.a.c could not be written to " + file,
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		a := &app{err: &terminal{File: w}, configPath: file}
		a.kept(&terminalAsker{always: always})
		w.Close()
		said, err := io.ReadAll(r)
		r.Close()
		if err != nil || !strings.HasPrefix(string(said), want) || want == "" && len(said) > 0 {
			t.Errorf("%q: %q, %v", always, said, err)
		}
	}
}

// An allow rule doesn't come before the ask rule that asks, so there is no always.
func TestNoAlwaysAgainstAnAskRule(t *testing.T) {
	q := permission.Question{Risk: permission.Write, Rule: &permission.Rule{Pattern: "mcp.*"}}
	answer, shown, err := ask(t, t.Context(), strings.NewReader("a\n"), q)
	if err != nil || answer.Allow || strings.Contains(shown, "[a]") {
		t.Errorf("%+v, %v, %s", answer, err, shown)
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	silent, hold := io.Pipe()
	defer hold.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ask(t, ctx, silent, permission.Question{Risk: permission.Write}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
