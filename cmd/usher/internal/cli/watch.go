package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/usher-mcp/usher/event"
	"github.com/usher-mcp/usher/permission"
)

const (
	mostLines   = 5 // that a watcher writes in one period
	linesPeriod = time.Second
	maxClient   = 60 // columns of what a client calls itself
	mostClients = 500
)

// watcher tells who sits before `usher serve` what is refused and what changes, a line each. Nobody can flood the
// terminal: of what is too much only the number is told. It is safe for concurrent use.
type watcher struct {
	to      *terminal
	command string // how usher is called in what a person is to run

	mu     sync.Mutex
	begun  bool            // the start screen is there
	early  []string        // what was to be said before it
	known  map[string]bool // clients
	lines  int             // in this period
	missed int
	timer  *time.Timer // ends the period; nil: none has begun
}

var _ permission.Asker = (*watcher)(nil)

// Ask tells of the call and how to answer: nobody can be asked here.
func (w *watcher) Ask(_ context.Context, q permission.Question) (permission.Answer, error) {
	w.say(fmt.Sprintf("%s wants %s (%s) and waits: %s", cut(line(q.Client), maxClient), q.Target.Canonical(), q.Risk, w.remedy(q)))
	return permission.Answer{}, permission.ErrNobody
}

// remedy is how to let such a call in.
func (w *watcher) remedy(q permission.Question) string {
	answer := w.command + " approvals show " + q.ID
	switch {
	case q.Rule != nil && q.Rule.Note != "":
		return q.Rule.Note + "; to see it: " + w.command + " doctor; to answer: " + answer
	case q.Rule != nil || q.OnceOnly():
		return "to answer: " + answer
	}
	return "to answer: " + answer + "; to allow it always: " + w.command + " allow " + shellWord(q.Target.Canonical())
}

// notice tells of a change of the configuration.
func (w *watcher) notice(text string) { w.say("config: " + text) }

// observe tells of each client once: some connect anew for each request.
func (w *watcher) observe(d event.Data) {
	c, ok := d.(event.ClientConnected)
	if !ok {
		return
	}
	name := c.Name
	if name == "" {
		name = "an unnamed client"
	}
	if c.Version != "" {
		name += "/" + c.Version
	}
	text := fmt.Sprintf("%s connected (%s)", cut(line(name), maxClient), c.Via)
	w.mu.Lock()
	told := w.known[text] || len(w.known) >= mostClients
	if !told {
		if w.known == nil {
			w.known = map[string]bool{}
		}
		w.known[text] = true
	}
	w.mu.Unlock()
	if !told {
		w.say(text)
	}
}

// begin lets out what was to be said before the start screen was there.
func (w *watcher) begin() {
	w.mu.Lock()
	early := w.early
	w.begun, w.early = true, nil
	w.mu.Unlock()
	for _, text := range early {
		w.say(text)
	}
}

func (w *watcher) say(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		if len(w.early) < mostLines {
			w.early = append(w.early, text)
		}
		return
	}
	if w.timer == nil {
		w.lines, w.timer = 0, time.AfterFunc(linesPeriod, w.period)
	}
	if w.lines++; w.lines > mostLines {
		w.missed++
		return
	}
	w.write(text)
}

// period tells how much was left out in the period that ends.
func (w *watcher) period() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.tellMissed()
}

func (w *watcher) tellMissed() {
	if w.missed > 0 {
		w.write(fmt.Sprintf("and %d more in this second; to see all, run: %s events", w.missed, w.command))
		w.missed = 0
	}
}

// write is one write, so that no other line comes between. What a progress line left behind is taken away.
func (w *watcher) write(text string) {
	start := ""
	if w.to.tty {
		start = "\r\x1b[K"
	}
	stamp := time.Now().Format("15:04:05")
	fmt.Fprintf(w.to, "%s%s %s\n", start, w.to.paint(dim, stamp), line(text))
}

// close ends the period that runs.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.early { // it never came to the start screen
		w.write(text)
	}
	if w.timer != nil {
		w.timer.Stop()
		w.tellMissed()
	}
}
