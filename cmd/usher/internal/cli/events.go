package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/event/journal"
	"github.com/usher-mcp/usher/fault"
)

// someEvents is how many the table shows unless told otherwise.
const someEvents = 100

func (a *app) events() *cobra.Command {
	var q eventQuery
	cmd := &cobra.Command{
		Use: "events", Short: "Show what happened, or verify the log", Args: noArgs,
		Long: `Show the event log, oldest first. It may be read while usher runs.
--json prints the lines as they are stored.`,
		Example: `  usher events --limit 20
  usher events --session host --type 'mcp.server.*'
  usher events verify`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.running = true
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

func (a *app) showEvents(q eventQuery) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	dir := a.journalDir(c)
	if !exists(dir) {
		fmt.Fprintf(a.err, "no events yet: there is no folder %s\n  The first usher tools or usher call makes it\n", line(dir))
		return nil
	}
	show := &eventWriter{app: a}
	last := tail{limit: q.limit, out: show.one}
	damaged := false
	for e, err := range journal.Read(dir, q.filter()) {
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
		return &failure{fault.ExitLog, "the event log is damaged", "To see all of it, run: usher events verify"}
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

// eventWriter prints events.
type eventWriter struct {
	app  *app
	head bool
	buf  []byte
}

func (w *eventWriter) one(e event.Event) error {
	if w.app.json {
		return w.stored(e)
	}
	out := w.app.out
	if !w.head {
		w.head = true
		fmt.Fprintln(out, out.paint(dim, "TIME                SESSION     SEQ  EVENT"))
	}
	kind := e.Type
	left, total := 0, out.width()
	if total == 0 || total >= roomy {
		kind = pad(kind, typeColumns)
	}
	if total > 0 {
		left = max(total-eventColumns-len(kind)-len(gap), leastSalient)
	}
	_, err := fmt.Fprintf(out, "%s  %s  %5d  %s  %s\n",
		out.paint(dim, e.Time.Local().Format("01-02 15:04:05.000")), pad(shortSession(e.Session), 8), e.Seq,
		out.paint(eventStyle(e), kind), cut(salient(e), left))
	return err
}

const (
	eventColumns = 18 + 2 + 8 + 2 + 5 + 2
	leastSalient = 16
	typeColumns  = 25
	roomy        = 100 // columns from which on the types get a column
)

// stored prints the line as it lies in the log, with the hash that stands there.
func (w *eventWriter) stored(e event.Event) error {
	stamp := e.Time.UTC().AppendFormat(nil, event.TimeFormat)
	w.buf, _ = event.AppendLine(w.buf[:0], e.Seq, e.Session, stamp, e.Type, e.Data, []byte(e.Prev))
	if h, err := hex.DecodeString(e.Hash); err == nil && 2*len(h) == event.HashLen {
		const tail = len("\"}\n")
		copy(w.buf[len(w.buf)-tail-event.HashLen:], e.Hash)
	}
	_, err := jsonWriter{w.app.out}.Write(w.buf)
	return err
}

func shortSession(id string) string {
	id = strings.TrimPrefix(id, "s_")
	return id[:min(len(id), 8)]
}
