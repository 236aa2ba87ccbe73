package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/usher-mcp/usher/permission"
)

// questionScreen is a question as a person sees it.
type questionScreen struct {
	permission.Question
	now  time.Time
	full bool   // also who asks, and until when: the one who reads isn't the one who called
	more string // what else there is to know, whole lines
}

const (
	answerColumn = 2 + 9 + 1 // where the right column of a question begins
	longArgs     = 15        // lines after which one can't see any more what it is about
	hidingSpace  = 40        // white space in a row that may push something out of sight
)

// show is all that is decided about. None of it can leave its place: names are one line, and the arguments are JSON with
// everything escaped that isn't plainly seen, however long it is.
func (t *terminal) show(s questionScreen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", t.paint(bold, "Run "+line(s.Target.Tool)+"?"))
	row := func(name, text string, c style) {
		if text != "" {
			fmt.Fprintf(&b, "  %s %s\n", t.paint(dim, pad(name, 9)), t.paint(c, t.wrapped(text, answerColumn)))
		}
	}
	row("tool", line(s.Target.Canonical()), "")
	row("server", s.server(), "")
	row("risk", riskWord(s.Risk), riskStyle(riskWord(s.Risk)))
	for i, why := range s.reasons() {
		row([]string{"asks", ""}[min(i, 1)], why, s.reasonStyle(i))
	}
	if s.full {
		row("for", s.asker(), "")
		row("session", line(s.Session), "")
		row("until", s.until(), "")
	}
	if says := firstLine(s.Title); says != "" {
		row("it says", cut(says, t.width()-answerColumn), "")
	}
	t.showArguments(&b, s)
	b.WriteString(s.more)
	return b.String()
}

func (t *terminal) showArguments(b *strings.Builder, s questionScreen) {
	text := seen(prettyJSON(s.Args))
	note := ""
	if len(s.Args) >= 1000 {
		note = size(len(s.Args)) + ", all of it here"
	}
	fmt.Fprintf(b, "  %s\n", strings.TrimRight(t.paint(dim, pad("arguments", 9))+" "+note, " "))
	for l := range strings.Lines(text) {
		fmt.Fprintf(b, "    %s", l)
	}
	if n := longestSpace(string(s.Args)); n >= hidingSpace {
		warning := fmt.Sprintf("there are %d spaces in a row in the arguments: look to the right, and further down", n)
		fmt.Fprintf(b, "  %s %s\n", t.paint(yellow, "note:"), t.wrapped(warning, len("  note: ")))
	}
	if strings.Count(text, "\n") > longArgs || len(text) > 2000 {
		fmt.Fprintf(b, "  %s %s\n", t.paint(dim, pad("tool", 9)), t.paint(bold, line(s.Target.Canonical())))
	}
}

// brailleBlank is a symbol by Unicode's word, and as empty as a space.
const brailleBlank = '\u2800'

// seen escapes what printableJSON lets pass, since other scripts need it, and what can carry text that nobody sees:
// variation selectors, joining marks without a shape, and blanks other than the space.
func seen(text string) string {
	if !strings.ContainsFunc(text, blank) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !blank(r):
			b.WriteRune(r)
		case r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// blank is also true of what takes room and shows nothing, but for the space.
func blank(r rune) bool {
	return unseen(r) || r == brailleBlank || r > ' ' && unicode.Is(unicode.Zs, r)
}

func longestSpace(s string) (most int) {
	n := 0
	for _, r := range s {
		if !unicode.IsSpace(r) && r != brailleBlank {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}

func (s questionScreen) server() string {
	if s.Target.Server == "" {
		return "built in"
	}
	text := line(s.Target.Server)
	if s.Source != "" && s.Source != "user" {
		text += " (" + line(s.Source) + ")"
	}
	if s.Package != "" {
		text += ", " + line(s.Package)
	}
	return text
}

// reasons are why it asks.
func (s questionScreen) reasons() (all []string) {
	for _, r := range s.Reasons {
		if r = line(r); r != "" {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		all = []string{askReason(s.Question)}
	}
	return all
}

// reasonStyle marks what says that data would be carried out, which comes first.
func (s questionScreen) reasonStyle(i int) style {
	if s.Flow != "" && i == 0 {
		return red
	}
	return ""
}

// asker is who wants it, by their own word.
func (s questionScreen) asker() string {
	name := line(s.Client)
	if name == "" {
		name = "a client without a name"
	}
	if s.Principal != "" {
		name += ", as " + line(s.Principal)
	}
	return name
}

func (s questionScreen) until() string {
	if s.Expires.IsZero() {
		return ""
	}
	left := s.Expires.Sub(s.now)
	if left <= 0 {
		return s.Expires.Local().Format(time.TimeOnly) + ", which is over"
	}
	return s.Expires.Local().Format(time.TimeOnly) + ", in " + roughly(left)
}

func riskWord(r permission.Risk) string {
	if word := r.String(); word != "" {
		return word
	}
	return "unknown"
}
