package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/permission"
)

// explained is an explanation on its way to a screen.
type explained struct {
	*app
	*usher.Explanation
	config   *config.Config
	as       sessionLike
	mode     permission.Mode // that counts
	withArgs bool
	cached   bool // its server doesn't run: what is known of it is from before
}

func (v *explained) show() error {
	if v.json {
		return writeJSON(v.out, v.forPrograms())
	}
	d := v.Decision
	fmt.Fprintf(v.out, "%s  %s\n", v.out.paint(bold, line(v.Tool.Name)), v.out.paint(effectStyle(d.Effect.String()), d.Effect.String()))
	fmt.Fprintf(v.out, "  %s\n", v.out.wrapped(line(v.because()), 2))
	if v.Hint != "" {
		fmt.Fprintf(v.out, "  %s\n", v.wrappedHint(v.Hint))
	}
	for _, text := range v.notes() {
		fmt.Fprintf(v.out, "  %s %s\n", v.out.paint(yellow, "note:"), v.out.wrapped(line(text), len("  note: ")))
	}
	fmt.Fprintln(v.out)
	for _, row := range [][2]string{
		{"risk", v.riskText()}, {"grant", v.grantText()}, {"mode", v.modeText()}, {"server", v.serverText()}, {"session", v.sessionText()},
		{"gives", v.givesText()}, {"reaches", v.reachText()},
	} {
		if row[1] != "" {
			fmt.Fprintf(v.out, "  %s  %s\n", v.out.paint(dim, pad(row[0], len("session"))), v.out.wrapped(line(row[1]), len("  session  ")))
		}
	}
	return v.steps()
}

// wrappedHint leaves commands whole: they are there to be copied.
func (v *explained) wrappedHint(hint string) string {
	if strings.Contains(hint, " run: ") {
		return line(hint)
	}
	return v.out.wrapped(line(hint), 2)
}

// because is why it is decided so.
func (v *explained) because() string {
	d := v.Decision
	switch {
	case v.Invalid != nil && v.withArgs:
		return "the arguments don't fit, so the call ends before anything is decided for good: " + v.Invalid.Error()
	case len(v.Reasons) > 0:
		return strings.Join(v.Reasons, "; ")
	case d.Grant != nil:
		return d.Why + ": the grant at " + placeOf(d.Grant.File, d.Grant.Line, "")
	case d.Rule != nil && d.Rule.Note != "":
		return d.Rule.Note
	case d.Rule != nil:
		return fmt.Sprintf("%s: %s at %s", d.Why, ruleText(d.Rule), placeOf(d.Rule.File, d.Rule.Line, d.Rule.Scope))
	}
	return d.Why
}

// ruleText is a rule in a line.
func ruleText(r *permission.Rule) string {
	if when := conditionOf(r); when != "" {
		return r.Pattern + " when " + when
	}
	return r.Pattern
}

// notes are what the decision leaves open.
func (v *explained) notes() (all []string) {
	if v.Invalid != nil && !v.withArgs {
		all = append(all, "this is for a call without arguments; give those that matter to a rule as key=value")
	}
	if v.cached {
		all = append(all, "this is from what is known of its server since it ran last: if it defines the tool in another way now, or runs another package, the call is decided anew")
	}
	if v.as.ended {
		all = append(all, "this session has ended: this is for another one of its client")
	}
	if v.as.Granted {
		all = append(all, fmt.Sprintf("the tool was allowed for this session at %s; the log doesn't tell whether it is still as it was then, and if it isn't, that counts for nothing",
			v.as.granted.Local().Format(time.TimeOnly)))
	}
	return all
}

func (v *explained) riskText() string {
	text := v.Call.Risk.String()
	switch l := v.Label; {
	case l != nil && l.Hash == v.Call.Definition:
		return text + ": your label for the tool as it is now"
	case l != nil && v.Call.Risk != v.Assessed:
		return text + ": your label, which can only raise it, since it isn't for the tool as it is now"
	case l != nil:
		text += ": your label says " + l.Risk.String() + ", but not for the tool as it is now, and so it could only raise it"
	}
	return text + "; " + v.hintsText()
}

// hintsText says what the tool's own words are worth.
func (v *explained) hintsText() string {
	said := hintsOf(v.Call)
	switch {
	case len(said) == 0 && v.TrustHints:
		return "the tool says nothing of itself"
	case len(said) == 0:
		return "the tool says nothing of itself, which wouldn't be trusted either"
	case v.TrustHints:
		return "the tool says " + strings.Join(said, ", ") + ", and its server's hints are trusted"
	}
	return "the tool says " + strings.Join(said, ", ") + ", but its server's hints aren't trusted, so they can only raise it"
}

func hintsOf(c permission.Call) (said []string) {
	for _, h := range []struct {
		name  string
		value *bool
	}{{"readOnly", c.Annotations.ReadOnly}, {"destructive", c.Annotations.Destructive}, {"idempotent", c.Annotations.Idempotent}, {"openWorld", c.Annotations.OpenWorld}} {
		if h.value != nil {
			said = append(said, fmt.Sprintf("%s: %t", h.name, *h.value))
		}
	}
	return said
}

func (v *explained) grantText() string {
	var all []string
	for _, s := range v.Steps {
		if s.Grant != nil {
			all = append(all, placeOf(s.Grant.File, s.Grant.Line, "")+": "+s.Why)
		}
	}
	if v.Call.Granted {
		all = append(all, "for this session")
	}
	if len(all) == 0 {
		return "none: nobody allowed it for good"
	}
	return strings.Join(all, "; ")
}

func (v *explained) modeText() string {
	m := v.modeOf(v.config)
	text := v.mode.String()
	switch {
	case v.mode != v.Call.Mode:
		return fmt.Sprintf("%s: %s is wanted, and the administrator doesn't allow it", text, v.Call.Mode)
	case v.as.Mode != permission.Default:
		return text + ": the session's own"
	case m.Source == "default":
		return text
	case m.Source == config.SourceCommandLine && m.File == "":
		return text + ": --mode"
	}
	return text + ": " + placeOf(m.File, m.Line, m.Source)
}

func (v *explained) serverText() string {
	if v.Tool.Server == "" {
		return ""
	}
	s := entryOf(v.config, v.Tool.Server)
	text := fmt.Sprintf("%s, from %s", v.Tool.Server, placeOf(s.File, s.Line, s.Source))
	if v.Call.Package != "" {
		text += ", runs " + v.Call.Package
	}
	return text
}

func (v *explained) sessionText() string {
	holds := "it holds nothing private and nothing by strangers"
	if l := v.Call.Labels; len(l) > 0 {
		holds = "it holds what is " + strings.Join(l, " and ")
	}
	if v.as.ID == "" {
		return "one of usher call; " + holds
	}
	who := v.as.Client
	if who == "" {
		who = "an unnamed client"
	}
	return fmt.Sprintf("%s of %s (%s); %s", v.as.ID, who, v.as.Kind, holds)
}

func (v *explained) givesText() string {
	if len(v.Gives) == 0 {
		return "what is neither private nor by strangers"
	}
	return "what counts as " + strings.Join(v.Gives, " and ")
}

func (v *explained) reachText() string {
	text := map[string]string{
		"none":   "nothing beyond this machine: it carries no data out",
		"closed": "the place that its server stands for: it could carry out what other servers gave",
		"open":   "anybody: it could carry out whatever the session holds",
	}[v.Sink]
	if v.Flow != "" {
		text += "; now " + v.Flow
	}
	return text
}

// steps lists the rules that are about the tool, in the order in which they count.
func (v *explained) steps() error {
	var about []permission.Step
	others := 0
	for _, s := range v.allSteps() {
		if s.Rule != nil && !s.Names && !s.Decided && !isAbout(s, v.Call.Target) {
			others++
			continue
		}
		about = append(about, s)
	}
	fmt.Fprintf(v.out, "\n  %s\n", v.out.paint(bold, "Looked at"))
	for _, s := range about {
		v.step(s)
	}
	var err error
	if others > 0 {
		_, err = fmt.Fprintf(v.out, "    %s\n", v.out.paint(dim, "and "+plural(others, "rule")+" about other tools"))
	}
	return err
}

// allSteps has what the rules looked at, and behind that where data could go, if that is what decides.
func (v *explained) allSteps() []permission.Step {
	if v.Decision.SourcedFrom == v.Rules.SourcedFrom {
		return v.Steps
	}
	all := slices.Clone(v.Steps)
	for i := range all {
		all[i].Decided = false
	}
	return append(all, permission.Step{List: "data flow", Matched: true, Decided: true, Effect: v.Decision.Effect, Why: v.Decision.Why})
}

// isAbout tells a rule that is about the tool, and can't reach it for another reason, from one about other tools.
func isAbout(s permission.Step, t permission.Target) bool {
	if s.List == "allow" {
		return s.Rule.Permits(t)
	}
	return s.Rule.Reaches(t)
}

func (v *explained) step(s permission.Step) {
	sign, colour := "·", dim
	switch {
	case s.Decided:
		sign, colour = "→", effectStyle(s.Effect.String())
	case s.Matched:
		sign, colour = "✓", ""
	}
	head, place := s.List, ""
	switch {
	case s.Grant != nil:
		place = placeOf(s.Grant.File, s.Grant.Line, "")
	case s.Rule != nil && s.Rule.Note == "" && slices.Contains([]string{"deny", "ask", "allow"}, s.List):
		head += "  " + ruleText(s.Rule)
		place = placeOf(s.Rule.File, s.Rule.Line, s.Rule.Scope)
	}
	fmt.Fprintf(v.out, "  %s %s\n", v.out.paint(colour, sign), v.out.wrapped(line(head), len(ownLine)))
	if place != "" {
		fmt.Fprintf(v.out, "      %s\n", v.out.paint(dim, line(place)))
	}
	why := s.Why
	if s.Decided {
		why = s.Effect.String() + ": " + why
	}
	fmt.Fprintf(v.out, "      %s\n", v.out.paint(colour, v.out.wrapped(line(why), 6)))
}
