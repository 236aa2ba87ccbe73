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

// asker asks in the terminal; nobody is there unless both the question is seen and the answer is typed.
func (a *app) asker(p *progress) permission.Asker {
	if !a.err.tty || !isTerminal(a.in) {
		return nil
	}
	return &terminalAsker{in: bufio.NewReader(a.in), to: a.err, progress: p}
}

type terminalAsker struct {
	in       *bufio.Reader
	to       *terminal
	progress *progress
}

var _ permission.Asker = (*terminalAsker)(nil)

// Ask shows the question and waits for a line. Whatever is no clear yes is a no. When ctx ends, the reader stays until
// the next line comes, which nobody gets then.
func (t *terminalAsker) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	defer t.progress.hold()()
	fmt.Fprint(t.to, t.question(q))
	typed := make(chan string, 1)
	go func() {
		s, _ := t.in.ReadString('\n') // at the end of input nobody said yes
		typed <- s
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(t.to)
		return permission.Answer{}, ctx.Err()
	case s := <-typed:
		if !strings.HasSuffix(s, "\n") {
			fmt.Fprintln(t.to)
		}
		answer := parseAnswer(s, q.Risk)
		answer.Via, answer.Principal = "terminal", whoami()
		return answer, nil
	}
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
	row("asks", askReason(q), "")
	if says := firstLine(q.Title); says != "" {
		row("it says", cut(says, t.to.width()-12), "")
	}
	row("arguments", "", "")
	for l := range strings.Lines(prettyJSON(q.Args)) {
		fmt.Fprintf(&b, "    %s", l)
	}
	choices := "[y] once   [s] this session   [a] always   [n] no (default)"
	if q.Risk >= permission.Destructive {
		choices = "[y] once   [n] no (default)"
	}
	fmt.Fprintf(&b, "\n%s %s ", choices, t.to.paint(bold, ">"))
	return b.String()
}

func askReason(q permission.Question) string {
	switch {
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

func parseAnswer(typed string, risk permission.Risk) permission.Answer {
	answer := permission.Answer{Allow: true}
	switch strings.ToLower(strings.TrimSpace(typed)) {
	case "y", "yes":
		return answer
	case "s":
		answer.Scope = permission.Session
	case "a":
		answer.Scope = permission.Always
	default:
		return permission.Answer{}
	}
	if risk >= permission.Destructive {
		return permission.Answer{} // it wasn't offered
	}
	return answer
}

func whoami() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
