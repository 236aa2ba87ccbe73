package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/usher-mcp/usher/event"
)

// eventWriter prints events.
type eventWriter struct {
	app   *app
	now   time.Time
	today bool // all are of today, so the date says nothing
	head  bool
	buf   []byte
}

func (w *eventWriter) one(e event.Event) error {
	out := w.app.out
	total := out.width()
	wide := total == 0 || total >= roomy
	layout := w.layout(wide)
	if !w.head {
		w.head = true
		fmt.Fprintln(out, out.paint(dim, w.header(layout)))
	}
	kind, left := e.Type, 0
	if wide {
		kind = pad(kind, typeColumns)
	}
	start := fmt.Sprintf("%s  %5d  ", pad(shortSession(e.Session), sessionColumns), e.Seq)
	if total > 0 {
		left = max(total-len(layout)-len(gap)-len(start)-len(kind)-len(gap), leastSalient)
	}
	_, err := fmt.Fprintf(out, "%s  %s%s  %s\n",
		out.paint(dim, e.Time.Local().Format(layout)), start, out.paint(eventStyle(e), kind), cut(salient(e), left))
	return err
}

// layout is how times are written: in local time, without what says nothing or has no room.
func (w *eventWriter) layout(wide bool) string {
	layout := "15:04:05"
	if wide {
		layout += ".000"
	}
	if !w.today {
		layout = "01-02 " + layout
	}
	return layout
}

// header tells once by how much local time is off.
func (w *eventWriter) header(layout string) string {
	head := "TIME"
	if offset := w.now.Local().Format("Z07:00"); len(head)+1+len(offset)+2 <= len(layout) {
		head += " (" + offset + ")"
	} else {
		head = offset
	}
	return pad(head, len(layout)) + "  " + pad("SESSION", sessionColumns) + "   SEQ  EVENT"
}

func sameDay(a, b time.Time) bool {
	const day = "2006-01-02"
	return a.Local().Format(day) == b.Local().Format(day)
}

const (
	sessionColumns = 6
	leastSalient   = 16
	typeColumns    = 25
	roomy          = 100 // columns from which on the types get a column
)

// stored prints the line as it lies in the log.
func (w *eventWriter) stored(stored []byte) error {
	w.buf = append(append(w.buf[:0], stored...), '\n')
	_, err := jsonWriter{w.app.out}.Write(w.buf)
	return err
}

func shortSession(id string) string {
	id = strings.TrimPrefix(id, "s_")
	return id[:min(len(id), sessionColumns)]
}
