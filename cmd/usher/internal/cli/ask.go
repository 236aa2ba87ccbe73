package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"strings"

	"github.com/usher-mcp/usher/permission"
)

// asker is asked about one call and keeps what it was asked.
type asker interface {
	permission.Asker
	asks() *permission.Rule // the rule because of which it was asked
}

// asker asks in the terminal; nobody is there unless both the question is seen and the answer is typed.
func (a *app) asker(p *progress) asker {
	if !a.err.tty || !isTerminal(a.in) {
		return &nobody{}
	}
	return &terminalAsker{in: bufio.NewReader(a.in), to: a.err, progress: p}
}

type nobody struct{ rule *permission.Rule }

var _ asker = (*nobody)(nil)

func (n *nobody) Ask(_ context.Context, q permission.Question) (permission.Answer, error) {
	n.rule = q.Rule
	return permission.Answer{}, permission.ErrNobody
}

func (n *nobody) asks() *permission.Rule { return n.rule }

// kept says which rule an answer wrote.
func (a *app) kept(asked asker) {
	t, ok := asked.(*terminalAsker)
	if !ok || t.always == "" {
		return
	}
	c, err := a.load()
	if err == nil {
		if n := ruleLine(c, granted{List: "allow", Rule: t.always}); n > 0 {
			text := fmt.Sprintf("wrote allow %s in %s:%d", t.always, a.path(), n)
			fmt.Fprintln(a.err, a.err.paint(dim, a.err.wrapped(line(text), 2)))
			return
		}
	}
	fmt.Fprintf(a.err, "%s the rule for %s could not be written to %s\n", a.err.paint(yellow, "note:"), line(t.always), line(a.path()))
}

type terminalAsker struct {
	in       *bufio.Reader
	to       *terminal
	progress *progress

	rule   *permission.Rule
	always string // the tool that is to run always from now on
}

var _ asker = (*terminalAsker)(nil)

func (t *terminalAsker) asks() *permission.Rule { return t.rule }

// tries is how often a person may mistype.
const tries = 3

// Ask shows the question and waits for a line. What is no answer is asked again; after that, and at the end of input, it
// is a no. When ctx ends, the reader stays until the next line comes, which nobody gets then.
func (t *terminalAsker) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	defer t.progress.hold()()
	t.rule = q.Rule
	fmt.Fprint(t.to, t.question(q))
	answer, understood := permission.Answer{}, false
	for try := 1; !understood && try <= tries; try++ {
		if try > 1 {
			fmt.Fprintf(t.to, "please type one of these letters: %s ", t.choices(q))
		}
		typed, err := t.typed(ctx)
		if err != nil {
			return permission.Answer{}, err
		}
		answer, understood = parseAnswer(typed, lasting(q))
	}
	if answer.Scope == permission.Always {
		t.always = q.Target.Canonical()
	}
	answer.Via, answer.Principal = "terminal", whoami()
	return answer, nil
}

// typed is the next line; "" at the end of input, where nobody said yes.
func (t *terminalAsker) typed(ctx context.Context) (string, error) {
	typed := make(chan string, 1)
	go func() {
		s, err := t.in.ReadString('\n')
		if err != nil {
			s = ""
		}
		typed <- s
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(t.to)
		return "", ctx.Err()
	case s := <-typed:
		if s == "" {
			fmt.Fprintln(t.to)
		}
		return s, nil
	}
}

// lasting reports whether an answer can hold for later calls too: an allow rule neither lets a destructive call in nor
// comes before an ask rule.
func lasting(q permission.Question) bool { return q.Risk < permission.Destructive && q.Rule == nil }

func (t *terminalAsker) choices(q permission.Question) string {
	choices := "[y] once   [n] no (default)"
	if lasting(q) {
		choices = "[y] once   [a] always   [n] no (default)"
	}
	return choices + " " + t.to.paint(bold, ">")
}

// question shows all that is decided about. None of it can leave its place: names are one line, and the arguments are
// JSON with everything escaped that isn't plainly seen.
func (t *terminalAsker) question(q permission.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", t.to.paint(bold, "Run "+line(q.Target.Tool)+"?"))
	row := func(name, text string, c style) {
		fmt.Fprintf(&b, "  %s %s\n", t.to.paint(dim, pad(name, 9)), t.to.paint(c, text))
	}
	server := "built in"
	if q.Target.Server != "" {
		server = line(q.Target.Server)
	}
	row("tool", line(q.Target.Canonical()), "")
	row("server", server, "")
	row("risk", q.Risk.String(), riskStyle(q.Risk.String()))
	row("asks", t.to.wrapped(askReason(q), answerColumn), "")
	if says := firstLine(q.Title); says != "" {
		row("it says", cut(says, t.to.width()-answerColumn), "")
	}
	row("arguments", "", "")
	for l := range strings.Lines(prettyJSON(q.Args)) {
		fmt.Fprintf(&b, "    %s", l)
	}
	fmt.Fprintf(&b, "\n%s ", t.choices(q))
	return b.String()
}

const answerColumn = 2 + 9 + 1 // where the right column of a question begins

func askReason(q permission.Question) string {
	switch {
	case q.Rule != nil && q.Rule.Note != "":
		return line(q.Rule.Note)
	case q.Rule != nil && q.Rule.File != "":
		return fmt.Sprintf("the rule %s (%s:%d)", line(q.Rule.Pattern), line(q.Rule.File), q.Rule.Line)
	case q.Rule != nil:
		return "the rule " + line(q.Rule.Pattern)
	case q.Risk >= permission.Destructive:
		return "a destructive call asks each time"
	}
	return "no rule allows it"
}

// prettyJSON lays JSON out without changing a token.
func prettyJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return printableJSON(raw) + "\n"
	}
	return printableJSON(b.Bytes()) + "\n"
}

func parseAnswer(typed string, always bool) (answer permission.Answer, understood bool) {
	switch strings.ToLower(strings.TrimSpace(typed)) {
	case "y", "yes":
		return permission.Answer{Allow: true}, true
	case "a", "always":
		if always {
			return permission.Answer{Allow: true, Scope: permission.Always}, true
		}
	case "n", "no", "":
		return permission.Answer{}, true
	}
	return permission.Answer{}, false
}

func whoami() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
