package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/permission"
)

// F5, L1: who asks and why, until when, and all bytes of the arguments, whatever is in them and however long they are.
func TestScreen(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.Local)
	long := strings.Repeat("0123456789", 1000)
	q := permission.Question{
		Target: permission.Target{Server: "fs", Tool: "write"}, Risk: permission.Write, Client: "co\x1b[2Jdex", Principal: "ann", Session: "s_1",
		Reasons: []string{"data of mail would go to fs\u202e", "its risk is write"}, Flow: "mail>fs", Source: "project", Package: "npm:x@1", Expires: now.Add(10 * time.Minute),
		Args: []byte("{\"a\":\"1\\n\x1b]8;;\u202e\U000e0041\xff" + long + "\",\n\"b\":\"" + strings.Repeat(" ", 300) + "rm -rf\"}"),
	}
	out := (&terminal{}).show(questionScreen{Question: q, now: now, full: true, more: "  extra\n"})
	for _, want := range []string{
		"Run write?\n", "tool      mcp.fs.write\n", "server    fs (project), npm:x@1\n", "asks      data of mail would go to fs\\u{202e}\n            its risk is write\n",
		`for       co\x1b[2Jdex, as ann`, "session   s_1\n", "until     12:10:00, in 10 min\n", `1\n\u001b]8;;\u202e\udb40\udc41\xff` + long, "arguments 10.3 KB, all of it here\n",
		"note: there are 300 spaces in a row", "rm -rf", "  tool      mcp.fs.write\n  extra\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.ContainsAny(out, "\x1b\u202e\U000e0041") || strings.Contains(out, "\xff") {
		t.Errorf("something acts on the terminal: %q", out)
	}
}

// F5: what shows nothing hides nothing: text in variation selectors, and blanks that aren't spaces, push nothing away.
func TestUnseen(t *testing.T) {
	q := permission.Question{Target: permission.Target{Server: "fs", Tool: "write"}, Args: []byte(`{"a":"é ☎` + "\ufe0f\U000e0141\u034f\u2800" + `","b":"` + strings.Repeat("\u3000\u00a0 ", 20) + `rm"}`)}
	out := (&terminal{}).show(questionScreen{Question: q})
	for _, want := range []string{`"é ☎\ufe0f\udb40\udd41\u034f\u2800"`, `\u3000\u00a0 \u3000`, "there are 60 spaces in a row"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.ContainsFunc(out, blank) {
		t.Errorf("%q", out)
	}
}

// What was typed before a question was shown, or as fast as nobody reads, answers nothing.
func TestTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		typist := newTypist(in, reaction)
		write := func(text string) { fmt.Fprint(keys, text); synctest.Wait() }
		write("y\ny\n")
		shown := time.Now()
		got := make(chan string, 1)
		go func() { s, _ := typist.next(t.Context(), shown); got <- s }()
		time.Sleep(reaction / 2)
		write("y\n")
		time.Sleep(reaction)
		write("n\n")
		if s := <-got; s != "n\n" {
			t.Errorf("%q", s)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("answered elsewhere")
		cancel(why)
		if _, err := typist.next(ctx, time.Now()); err != why {
			t.Error(err)
		}
		keys.Close()
		for range 2 {
			if _, err := typist.next(t.Context(), time.Now()); err != io.EOF {
				t.Error(err)
			}
		}
	})
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        []string
	}{
		{`{"a":1}`, `{ "a" : 1 }`, nil},
		{`{"a":1,"b":[1, 2],"c":"x"}`, `{"b":[1,2],"a":2,"d\u202e":"` + strings.Repeat("y", 99) + `"}`,
			[]string{"~ a: 1 → 2", `+ d\u{202e}: "` + strings.Repeat("y", 58) + "…", `- c: "x"`}},
		{`[1]`, `[1]`, nil},
		{`[1]`, `{"a":1}`, []string{`~ [1] → {"a":1}`}},
		{``, `{"a":1}`, []string{`~  → {"a":1}`}},
	} {
		var got []string
		for _, d := range compare([]byte(c.before), []byte(c.now)) {
			got = append(got, d.mark+" "+d.text)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s, %s: %s", c.before, c.now, d)
		}
	}
}
