package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// replayed is what a replay found.
type replayed struct {
	Rules     string         `json:"rules"`
	Mode      string         `json:"mode"`
	Total     int            `json:"total"`
	Same      int            `json:"same"`
	Different int            `json:"different"`
	CantTell  int            `json:"cantTell"`
	Changes   map[string]int `json:"changes,omitempty"` // such as "allow → ask"
	Calls     []replayedCall `json:"calls"`             // those that are different, or that can't be told
}

// replayedCall is a call of the log, decided again.
type replayedCall struct {
	ID      string    `json:"toolCallId"`
	Session string    `json:"session"`
	Client  string    `json:"client,omitempty"`
	Time    time.Time `json:"time"`
	Tool    string    `json:"tool"`
	Was     string    `json:"was"`   // allow, ask or deny, whatever was answered
	Would   string    `json:"would"` // likewise, or can't tell
	Rule    *ruleJSON `json:"rule,omitempty"`
	Why     string    `json:"why,omitempty"`
	Unknown []string  `json:"unknown,omitempty"` // what keeps it from being told
	Note    string    `json:"note,omitempty"`
}

func (r *replayed) add(c replayedCall) {
	r.Total++
	switch {
	case c.Would == cantTell:
		r.CantTell++
	case c.Would == c.Was:
		r.Same++
		return
	default:
		r.Different++
		if r.Changes == nil {
			r.Changes = map[string]int{}
		}
		r.Changes[c.change()]++
	}
	r.Calls = append(r.Calls, c)
}

func (c *replayedCall) change() string { return c.Was + " → " + c.Would }

// because is why it would be decided so, or can't be told.
func (c *replayedCall) because() string {
	text := c.Why
	switch {
	case c.Would == cantTell:
		text = strings.Join(c.Unknown, "; ")
	case c.Rule != nil:
		text = fmt.Sprintf("%s: %s at %s", c.Why, c.Rule.text(), placeOf(c.Rule.File, c.Rule.Line, c.Rule.Source))
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// alike are calls of which the same is to be said.
type alike struct {
	replayedCall // the last
	count        int
}

func (r *replayed) groups() (all []*alike) {
	known := map[string]*alike{}
	for _, c := range r.Calls {
		key := fmt.Sprintf("%q%q%q", c.change(), c.Tool, c.because())
		g := known[key]
		if g == nil {
			g = &alike{}
			known[key], all = g, append(all, g)
		}
		g.replayedCall, g.count = c, g.count+1
	}
	rank := func(g *alike) int { return slices.Index([]string{"deny", "ask", "allow", cantTell}, g.Would) }
	slices.SortStableFunc(all, func(a, b *alike) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Was, b.Was), cmp.Compare(b.count, a.count), cmp.Compare(a.Tool, b.Tool))
	})
	return all
}

func (a *app) showReplay(r *replayed) error {
	if a.json {
		return writeJSON(a.out, r)
	}
	w := a.out
	if r.Total == 0 {
		_, err := fmt.Fprintln(w, "the log has no such calls")
		return err
	}
	fmt.Fprintf(w, "%s\n", w.wrapped(fmt.Sprintf("%s decided again with %s, in the mode %s", plural(r.Total, "call"), line(r.Rules), r.Mode), 0))
	fmt.Fprintf(w, "  %s as before\n", w.paint(green, fmt.Sprintf("%6d", r.Same)))
	for _, g := range slices.Sorted(maps.Keys(r.Changes)) {
		fmt.Fprintf(w, "  %s %s\n", w.paint(yellow, fmt.Sprintf("%6d", r.Changes[g])), g)
	}
	if r.CantTell > 0 {
		fmt.Fprintf(w, "  %s of which it can't be told\n", w.paint(yellow, fmt.Sprintf("%6d", r.CantTell)))
	}
	if len(r.Calls) > 0 {
		fmt.Fprintln(w)
	}
	for _, g := range r.groups() {
		a.showAlike(g)
	}
	return nil
}

func (a *app) showAlike(g *alike) {
	w := a.out
	change := w.paint(effectStyle(g.Would), g.change())
	count := fmt.Sprintf("%s, the last %s", plural(g.count, "call"), g.Time.Local().Format("01-02 15:04:05"))
	if g.count == 1 {
		count = g.Time.Local().Format("01-02 15:04:05")
	}
	fmt.Fprintf(w, "%s  %s  %s\n", change, w.paint(bold, line(g.Tool)), w.paint(dim, count))
	fmt.Fprintf(w, "    %s\n", w.wrapped(line(g.because()), len(ownLine)))
}
