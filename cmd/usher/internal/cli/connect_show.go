package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/connect"
)

// showPlan shows what is to become of the file.
func (a *app) showPlan(p *connect.Plan, n connection) {
	if a.json || n.yes && !a.err.tty {
		return
	}
	title := p.Client.Title + ": " + line(homely(p.File))
	if p.Target != p.File && p.Target != absolute(p.File) {
		title += ", which leads to " + line(p.Target)
	}
	fmt.Fprintln(a.err, a.err.paint(bold, title))
	names := 0
	for _, c := range p.Changes {
		names = max(names, width(line(c.Name)))
	}
	for _, c := range p.Changes {
		a.showChange(c, names)
	}
	if p.Changed() {
		a.showDiff(p)
	}
}

// changeTexts say what happens to an entry.
var changeTexts = map[string]struct {
	mark, text string
	style      style
}{
	connect.Added:     {"+", "new, through usher", green},
	connect.Updated:   {"~", "brought up to date", yellow},
	connect.Unchanged: {"=", "is there already", dim},
	connect.Moved:     {">", "moved: it went past usher to ", yellow},
	connect.Kept:      {"!", "stays and goes past usher, to ", red},
	connect.Removed:   {"-", "taken out", red},
	connect.Restored:  {"<", "comes back as it was", green},
	connect.Lost:      {"!", "can't be put back by itself; the copy has it", red},
	connect.Refused:   {"!", "not connected: the client keeps this name, or another server has it there", red},
}

func (a *app) showChange(c connect.Change, columns int) {
	how := changeTexts[c.Kind]
	text := how.text
	if strings.HasSuffix(text, " to ") {
		text += leadsTo(c.Was)
	}
	name := a.err.paint(bold, pad(line(c.Name), columns))
	fmt.Fprintf(a.err, "  %s %s  %s\n", a.err.paint(how.style, how.mark), name, a.err.wrapped(line(text), len("  + ")+columns+2))
}

// leadsTo is where an entry of a client's own leads, without secrets.
func leadsTo(e connect.Entry) string {
	if u, err := url.Parse(e.URL); e.URL != "" && err == nil {
		return u.Scheme + "://" + u.Host + u.Path
	}
	if len(e.Command) > 0 {
		return commandLine(config.Server{Command: e.Command[0], Args: e.Command[1:]}, func(b []byte) []byte { return b })
	}
	return "nothing that usher understands"
}

const longestDiffLine = 1000 // bytes; a file of one line shows nothing by its lines

func (a *app) showDiff(p *connect.Plan) {
	text := string(diff.Diff("", p.Before, "", p.After))
	if at := strings.Index(text, "@@"); at >= 0 {
		text = text[at:]
	}
	fmt.Fprintln(a.err)
	long, hide := false, new(masker)
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\r\n"); len(l) > longestDiffLine {
			long = true
			continue
		}
		shown := lines(hide.line(l))
		if diffStyle(l) == "" { // what changes is shown in full: what is cut can't be judged
			shown = cut(shown, a.err.width())
		}
		fmt.Fprintln(a.err, a.err.paint(diffStyle(l), shown))
	}
	if long {
		fmt.Fprintln(a.err, "  (a line is too long to be shown; the entries above say what changes)")
	}
}

func diffStyle(l string) style {
	switch {
	case strings.HasPrefix(l, "+"):
		return green
	case strings.HasPrefix(l, "-"):
		return red
	case strings.HasPrefix(l, "@@"):
		return dim
	}
	return ""
}

// connected is what usher connect did, for programs.
type connected struct {
	Client  string           `json:"client"`
	File    string           `json:"file"`
	Changed bool             `json:"changed"`
	Written bool             `json:"written"`
	Exact   bool             `json:"exact,omitempty"` // an undo to the byte
	Changes []connect.Change `json:"changes"`
	Backup  string           `json:"backup,omitempty"`
	Next    string           `json:"next,omitempty"`
}

// tellConnected says what has become of it, and what to do next.
func (a *app) tellConnected(p *connect.Plan, o connect.Options, n connection) error {
	done := connected{p.Client.Name, p.File, p.Changed(), p.Changed() && !n.look, p.Undo && p.Exact, p.Changes, "", ""}
	if done.Written {
		done.Backup, done.Next = p.Backup(), p.Client.Next
	}
	if a.json {
		if done.Changes == nil {
			done.Changes = []connect.Change{}
		}
		return writeJSON(a.out, done)
	}
	file := line(homely(p.File))
	switch {
	case !p.Changed():
		fmt.Fprintf(a.out, "%s is as it is to be already\n", file)
	case n.look:
		fmt.Fprintln(a.out, "nothing was written")
	case p.Undo && p.Exact && p.After == nil:
		fmt.Fprintf(a.out, "removed %s, which was made for usher\n", file)
	case p.Undo && p.Exact:
		fmt.Fprintf(a.out, "%s is again what it was, to the byte\n", file)
	case p.Undo:
		fmt.Fprintf(a.out, "took usher out of %s; it had changed since, so all else stays as it is now\n", file)
	default:
		fmt.Fprintf(a.out, "wrote %s\n", file)
	}
	if done.Written {
		a.tellAfterwards(p, done, n)
	}
	if !n.undo {
		a.tellPast(p, o)
	}
	return nil
}

func (a *app) tellAfterwards(p *connect.Plan, done connected, n connection) {
	if done.Backup != "" && !(p.Undo && p.Exact) {
		fmt.Fprintf(a.out, "  the file before: %s\n", line(homely(done.Backup)))
	}
	fmt.Fprintf(a.out, "  next, in %s: %s\n", p.Client.Title, done.Next)
	if p.Undo {
		return
	}
	undo := "connect " + p.Client.Name
	if n.project {
		undo += " --project"
	}
	if n.file != "" {
		undo += " --file " + shellWord(absolute(n.file))
	}
	fmt.Fprintf(a.out, "  to undo, run: %s %s --undo\n", line(a.command()), undo)
}

// tellPast warns of entries in the client's other file that lead past usher, since they have the same name.
func (a *app) tellPast(p *connect.Plan, o connect.Options) {
	if o.File != "" || !p.Client.HasProject() {
		return
	}
	other, flag := p.Client.File(o.Place, !o.Project), " --project"
	if o.Project {
		flag = ""
	}
	var names []string
	for _, e := range p.Client.Look(o.Place, other).Own {
		if slices.ContainsFunc(p.Changes, func(c connect.Change) bool { return c.Name == e.Name && c.Kind != connect.Removed }) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	text := fmt.Sprintf("%s also has %s, which may go past usher; to move that too, run: %s connect %s%s", homely(other), strings.Join(names, ", "), a.command(), p.Client.Name, flag)
	fmt.Fprintf(a.err, "%s %s\n", a.err.paint(yellow, "note:"), a.err.wrapped(line(text), len("note: ")))
}

// homely is a path as people write it.
func homely(path string) string {
	abs := absolute(path)
	if home := (&app{}).place().Home; home != "" && home != "/" {
		if rest, ok := strings.CutPrefix(abs, home+string(filepath.Separator)); ok {
			return "~/" + rest
		}
	}
	return abs
}
