package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/usher-mcp/usher/config/foreign"
	"github.com/usher-mcp/usher/fault"
	"github.com/usher-mcp/usher/internal/keyring"
)

const mostLeft = 20 // that a screen has

func homelyWhere(w foreign.Where) string {
	w.File = homely(w.File)
	return w.String()
}

func titleOf(product string) string {
	p, _ := foreign.ProductNamed(product)
	return p.Title
}

// showImport shows what was found and what would be written.
func (a *app) showImport(in foreign.Input, p *foreign.Plan) {
	if a.json {
		return
	}
	a.showFound(in.Readings)
	a.showRivals(p)
	a.showLeft(p)
	if !p.Changes() {
		return
	}
	fmt.Fprintf(a.err, "\n%s\n", a.err.paint(bold, line(homely(a.importedPath()))))
	text := string(diff.Diff("", p.Old, "", p.New))
	if at := strings.Index(text, "@@"); at >= 0 {
		text = text[at:]
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n") // in full: what is cut can't be judged
		fmt.Fprintln(a.err, a.err.paint(diffStyle(l), lines(l)))
	}
}

func (a *app) showFound(readings []*foreign.Reading) {
	if len(readings) == 0 {
		fmt.Fprintln(a.err, "no configuration of another product was found")
		return
	}
	t := table{head: []string{"PRODUCT", "SERVERS", "RULES", "FILE"}}
	for _, r := range readings {
		servers, style := strconv.Itoa(len(r.Entries)), style("")
		if r.Err != nil {
			servers, style = "–", red
		}
		t.add(cell{line(titleOf(r.Place.Product)), ""}, cell{servers, style}, cell{strconv.Itoa(len(r.Rules)), ""}, cell{line(homely(r.Place.Path)), dim})
	}
	t.print(a.err)
	for _, r := range readings {
		if r.Err != nil {
			text := homely(r.Place.Path) + ": " + r.Err.Error()
			fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
		}
	}
}

// showRivals shows the servers that don't get their name.
func (a *app) showRivals(p *foreign.Plan) {
	shown := false
	for _, s := range p.Servers {
		if s.State != foreign.Conflict {
			continue
		}
		if !shown {
			fmt.Fprintf(a.err, "\n%s\n", a.err.paint(bold, "Not taken, for another server has the name"))
			shown = true
		}
		a.rival(a.err.paint(yellow, "!"), s)
		fmt.Fprintf(a.err, "     %s\n", a.err.wrapped(line(s.Why), 5))
		fmt.Fprintf(a.err, "     to take it, too: --as %s\n", line(shellWord(s.From+"="+s.Entry.Name+"-2")))
	}
}

// showLeft shows what else isn't taken over, and why.
func (a *app) showLeft(p *foreign.Plan) {
	var all []string
	for _, s := range p.Servers {
		if s.State == foreign.Left || s.State == foreign.Same && s.Why != "" {
			all = append(all, homelyWhere(s.Where)+": "+s.Entry.Name+": "+s.Why)
		}
	}
	for _, n := range p.Notes {
		text := homelyWhere(n.Where) + ": "
		if n.Field != "" {
			text += n.Field + ": "
		}
		all = append(all, text+n.Message)
	}
	reasons := map[string]int{}
	for _, r := range p.Rules {
		if r.State == foreign.Left {
			reasons[r.Why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, plural(reasons[why], "rule")+": "+why)
	}
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(a.err, "\n%s\n", a.err.paint(bold, "Not taken over"))
	for i, text := range all {
		if i == mostLeft {
			fmt.Fprintf(a.err, "  … and %d more; --json has all\n", len(all)-i)
			break
		}
		fmt.Fprintf(a.err, "  %s\n", a.err.wrapped(line(text), 4))
	}
}

// keepSecrets puts the secrets that were found into the keyring, unless it has one of that name.
func keepSecrets(p *foreign.Plan) map[string]error {
	kept := map[string]error{}
	ring, err := keyring.Open()
	for _, s := range p.Secrets {
		if s.Value == "" {
			continue
		}
		if kept[s.Name] = err; err != nil {
			continue
		}
		if _, err := ring.Get(s.Name); err == nil {
			continue
		}
		kept[s.Name] = ring.Set(s.Name, s.Value.Reveal())
	}
	return kept
}

// tellImport says what has become of it, and what to do next.
func (a *app) tellImport(p *foreign.Plan, kept map[string]error, wrote bool, n importing) error {
	servers, rules := p.Count()
	what := plural(servers, "server") + " and " + plural(rules, "rule")
	switch {
	case !p.Changes():
		fmt.Fprintln(a.out, "there is nothing new to import")
	case !wrote:
		fmt.Fprintf(a.out, "nothing was written; it would be %s\n", what)
	default:
		fmt.Fprintf(a.out, "imported %s into %s\n", what, line(homely(a.importedPath())))
	}
	return a.tellSecrets(p, kept, n)
}

// tellSecrets lists what isn't in the keyring yet, as far as that is known.
func (a *app) tellSecrets(p *foreign.Plan, kept map[string]error, n importing) error {
	var missing []foreign.Secret
	var failed error
	for _, s := range p.Secrets {
		err, tried := kept[s.Name]
		if !tried || err != nil {
			missing = append(missing, s)
		}
		if err != nil {
			failed = err
		}
	}
	if done := len(p.Secrets) - len(missing); done > 0 {
		fmt.Fprintf(a.out, "put %s into the keyring; where they were, they still are\n", plural(done, "secret"))
	}
	if len(missing) > 0 {
		a.tellMissing(missing, n)
	}
	if failed != nil {
		return &failure{fault.ExitConfig, "secrets could not be put into the keyring: " + failed.Error(), "All else was imported"}
	}
	return nil
}

func (a *app) tellMissing(missing []foreign.Secret, n importing) {
	fmt.Fprintln(a.out, "secrets weren't copied; before their servers can run, set them:")
	for _, s := range missing {
		fmt.Fprintf(a.out, "  %s secret set %s\n", line(a.command()), shellWord(s.Name))
		text := homelyWhere(s.Where)
		if s.Hint != "" {
			text += ": " + s.Hint
		}
		fmt.Fprintf(a.out, "    %s\n", a.out.paint(dim, cut(line(text), max(0, a.out.width()-4))))
	}
	if !n.keyring && slices.ContainsFunc(missing, func(s foreign.Secret) bool { return s.Value != "" }) {
		fmt.Fprintln(a.out, "  --secrets-to-keyring copies those that stand in a file")
	}
}
