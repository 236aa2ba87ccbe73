package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher/internal/admin"
	"github.com/usher-mcp/usher/permission"
)

// asker asks in the terminal; nobody is there unless both the question is seen and the answer is typed.
func (a *app) asker(p *progress) permission.Asker {
	if !a.err.tty || !isTerminal(a.in) {
		return &nobody{}
	}
	return &terminalAsker{in: bufio.NewReader(a.in), to: a.err, progress: p, may: a.mayDecide}
}

type nobody struct{}

var _ permission.Asker = (*nobody)(nil)

func (*nobody) Ask(context.Context, permission.Question) (permission.Answer, error) {
	return permission.Answer{}, permission.ErrNobody
}

// kept says which rule an answer wrote.
func (a *app) kept(asked permission.Asker) {
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
	may      func(context.Context) error // whether this process may answer; nil: it may

	// watch is for a person who answers what others asked: who asks is shown, a yes can hold for the session, and an
	// answer can be put off.
	watch  bool
	typist *typist // where lines come from then
	more   string  // what is shown besides

	always string // the tool that is to run always from now on
}

var _ permission.Asker = (*terminalAsker)(nil)

// tries is how often a person may mistype.
const tries = 3

// errLater says that a person doesn't want to answer now.
var errLater = errors.New("put off")

// Ask shows the question and waits for a line. What is no answer is asked again; after that, and at the end of input, it
// is a no. When ctx ends, the reader stays until the next line comes, which nobody gets then.
func (t *terminalAsker) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	defer t.progress.hold()()
	if t.may != nil {
		if err := t.may(ctx); err != nil {
			return permission.Answer{}, err
		}
	}
	shown := time.Now() // before it is, lest a quick answer come between
	fmt.Fprintf(t.to, "%s\n%s ", t.to.show(questionScreen{Question: q, now: shown, full: t.watch, more: t.more}), t.choices(q))
	answer, understood := permission.Answer{}, false
	for try := 1; !understood && try <= tries; try++ {
		if try > 1 {
			fmt.Fprintf(t.to, "please type one of these letters: %s ", t.choices(q))
		}
		typed, err := t.next(ctx, shown)
		if err != nil {
			return permission.Answer{}, err
		}
		if t.watch && later(typed) {
			return permission.Answer{}, errLater
		}
		answer, understood = parseScoped(typed, t.scopes(q))
	}
	if answer.Scope == permission.Always {
		t.always = q.Target.Canonical()
	}
	answer.Via, answer.Principal = "terminal", whoami()
	return answer, nil
}

// next is the line that is about what was shown at a time.
func (t *terminalAsker) next(ctx context.Context, shown time.Time) (string, error) {
	if t.typist != nil {
		return t.typist.next(ctx, shown)
	}
	return t.typed(ctx)
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

// scopes are how far a yes can reach. One for good neither lets a destructive call in nor comes before an ask rule; one
// for the session is of no use to a command that makes one call.
func (t *terminalAsker) scopes(q permission.Question) []permission.Scope {
	all := []permission.Scope{permission.Once}
	if t.watch && admin.Reaches(q, permission.Session) == nil {
		all = append(all, permission.Session)
	}
	if admin.Reaches(q, permission.Always) == nil {
		all = append(all, permission.Always)
	}
	return all
}

func (t *terminalAsker) choices(q permission.Question) string {
	all := t.scopes(q)
	var text strings.Builder
	for _, s := range all {
		text.WriteString([...]string{"[y] once   ", "[s] session   ", "[a] always   "}[s])
	}
	text.WriteString("[n] no (default)")
	if t.watch {
		text.WriteString("   [l] later")
	}
	return text.String() + " " + t.to.paint(bold, ">")
}

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
	scopes := []permission.Scope{permission.Once}
	if always {
		scopes = append(scopes, permission.Always)
	}
	return parseScoped(typed, scopes)
}

func parseScoped(typed string, scopes []permission.Scope) (answer permission.Answer, understood bool) {
	yes := func(s permission.Scope) (permission.Answer, bool) {
		if !slices.Contains(scopes, s) {
			return permission.Answer{}, false
		}
		return permission.Answer{Allow: true, Scope: s}, true
	}
	switch strings.ToLower(strings.TrimSpace(typed)) {
	case "y", "yes":
		return yes(permission.Once)
	case "s", "session":
		return yes(permission.Session)
	case "a", "always":
		return yes(permission.Always)
	case "n", "no", "":
		return permission.Answer{}, true
	}
	return permission.Answer{}, false
}

func later(typed string) bool {
	switch strings.ToLower(strings.TrimSpace(typed)) {
	case "l", "later":
		return true
	}
	return false
}

func whoami() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
