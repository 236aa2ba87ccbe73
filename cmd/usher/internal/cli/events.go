package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
	near "github.com/usher-mcp/usher/internal/nearest"
)

// someEvents is how many the table shows unless told otherwise.
const someEvents = 100

func (a *app) events() *cobra.Command {
	var q eventQuery
	cmd := &cobra.Command{
		Use: "events", Short: "Show what happened, or verify the log", Args: noArgs,
		Long: `Show the event log, oldest first, whatever process wrote it. It may be read while usher runs.
--json prints the lines as they are stored.`,
		Example: `  usher events --limit 20
  usher events --session host --type 'mcp.server.*'
  usher events verify`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.running = true
			if err := knownType(q.kind); err != nil {
				return err
			}
			if !cmd.Flags().Changed("limit") && !a.json {
				q.limit = someEvents
			}
			return a.showEvents(q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.session, "session", "", "only this session, by the beginning of its `ID`; host: usher itself and its servers")
	f.StringVar(&q.kind, "type", "", "only this `TYPE`, or a beginning and *, such as 'mcp.call.*'")
	f.IntVar(&q.limit, "limit", 0, "only the last `N` (default 100 in the table, all with --json; 0: all)")
	a.jsonFlag(cmd, "print the lines as they are stored")
	_ = cmd.RegisterFlagCompletionFunc("type", completeTypes)
	cmd.AddCommand(a.verify())
	return cmd
}

// eventQuery chooses events.
type eventQuery struct {
	session, kind string
	limit         int // 0: all
}

func (q eventQuery) filter() journal.Filter {
	f := journal.Filter{Type: q.kind}
	if q.session == "host" {
		f.Session = q.session
	}
	return f
}

func (q eventQuery) wants(e event.Event) bool {
	return q.session == "host" || strings.HasPrefix(e.Session, q.session) || strings.HasPrefix(e.Session, "s_"+q.session)
}

// knownType fails for a type that no event has.
func knownType(kind string) error {
	prefix, many := strings.CutSuffix(kind, "*")
	types := eventTypes()
	if kind == "" || !many && slices.Contains(types, kind) ||
		many && slices.ContainsFunc(types, func(t string) bool { return strings.HasPrefix(t, prefix) }) {
		return nil
	}
	text := fmt.Sprintf("no event has the type %q", kind)
	var families []string // mcp.call.* …
	for _, t := range types {
		families = append(families, t[:strings.LastIndexByte(t, '.')+1]+"*")
	}
	slices.Sort(families)
	families = slices.Compact(families)
	near := near.Name(prefix, types)
	if slices.Contains(families, strings.TrimSuffix(prefix, ".")+".*") {
		near = strings.TrimSuffix(prefix, ".") + ".*"
	}
	return usage(text+didYouMean(near), "There are: "+strings.Join(families, ", "))
}

func eventTypes() (types []string) {
	for _, d := range event.All() {
		types = append(types, d.Type())
	}
	return types
}

func (a *app) showEvents(q eventQuery) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	dir := a.journalDir(c)
	if !exists(dir) {
		fmt.Fprintf(a.err, "no events yet: there is no folder %s\n  The first %[2]s tools or %[2]s call makes it\n", line(dir), line(a.command()))
		return nil
	}
	show := &eventWriter{app: a, now: time.Now()}
	last := tail{limit: q.limit, out: show.one}
	damaged := false
	for e, err := range journal.Timeline(dir, q.filter()) {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return cantRead(err)
		case err != nil:
			damaged = true
			fmt.Fprintf(a.err, "%s %s\n", a.err.paint(red, "damaged:"), line(err.Error()))
		case q.wants(e):
			if err := last.add(e); err != nil {
				return err
			}
		}
	}
	show.today = len(last.ring) > 0 && !slices.ContainsFunc(last.ring, func(e event.Event) bool { return !sameDay(e.Time, show.now) })
	if err := last.flush(); err != nil {
		return err
	}
	return a.afterEvents(last, damaged)
}

func cantRead(err error) error {
	return &failure{fault.ExitLog, err.Error(), "Run as the user whose log it is, or name its folder with --data"}
}

func (a *app) afterEvents(t tail, damaged bool) error {
	switch {
	case t.seen == 0 && !a.json:
		fmt.Fprintln(a.err, "no events match")
	case t.limit > 0 && t.seen > t.limit && !a.json:
		fmt.Fprintf(a.err, "the last %d of %d; --limit 0 shows all\n", t.limit, t.seen)
	}
	if damaged {
		return &failure{fault.ExitLog, "the event log is damaged", "To see all of it, run: " + self + " events verify"}
	}
	return nil
}

// tail keeps the last events, or passes all on at once.
type tail struct {
	limit, seen int
	ring        []event.Event
	out         func(event.Event) error
}

func (t *tail) add(e event.Event) error {
	t.seen++
	switch {
	case t.limit <= 0:
		return t.out(e)
	case len(t.ring) < t.limit:
		t.ring = append(t.ring, e)
	default:
		t.ring[(t.seen-1)%t.limit] = e
	}
	return nil
}

func (t *tail) flush() error {
	start := 0
	if len(t.ring) > 0 && t.seen > len(t.ring) {
		start = t.seen % len(t.ring)
	}
	for i := range t.ring {
		if err := t.out(t.ring[(start+i)%len(t.ring)]); err != nil {
			return err
		}
	}
	return nil
}
