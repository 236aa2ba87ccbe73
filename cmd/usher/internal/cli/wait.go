package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/usher-mcp/usher"
)

const (
	blink    = 200 * time.Millisecond
	patience = time.Second      // after which something that isn't a terminal hears what is waited for
	again    = 10 * time.Second // after which it hears it once more
)

// progress is a line on standard error that comes and goes in a terminal.
type progress struct {
	to *terminal

	mu    sync.Mutex
	quiet bool
	shown bool
	last  string
	said  time.Time // when last was written
}

// show replaces the line; where there is no terminal it says each text, and from time to time again.
func (p *progress) show(text, more string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quiet:
	case p.to.tty:
		fmt.Fprint(p.to, "\r\x1b[K"+p.to.paint(dim, cut(text+more, p.to.width()-1)))
		p.shown = true
	case text != p.last || time.Since(p.said) >= again:
		fmt.Fprintln(p.to, text+more)
		p.last, p.said = text, time.Now()
	}
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}

// note says something that stays.
func (p *progress) note(text string) {
	if text == "" {
		return
	}
	p.clear()
	fmt.Fprintf(p.to, "%s %s\n", p.to.paint(yellow, "note:"), p.to.wrapped(line(text), len("note: ")))
}

// hold keeps the line away until release, while a person is asked.
func (p *progress) hold() (release func()) {
	p.clear()
	p.set(true)
	return func() { p.set(false) }
}

func (p *progress) set(quiet bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = quiet
}

// while shows text, and for how long already, until done is closed.
func (p *progress) while(done <-chan struct{}, text func() string) {
	begun := time.Now()
	tick := time.NewTicker(blink)
	defer tick.Stop()
	defer p.clear()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		passed := time.Since(begun)
		if t := text(); t != "" && (p.to.tty || passed >= patience) {
			p.show(t, fmt.Sprintf(" %d s", int(passed.Seconds())))
		}
	}
}

// ready waits until each server has come up or failed. It is bounded by their start time-outs.
func (a *app) ready(ctx context.Context, h *usher.Host) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Ready(ctx)
	}()
	p := &progress{to: a.err}
	p.while(done, func() string { return startingText(h.Servers()) })
	return ctx.Err()
}

func startingText(servers []usher.ServerStatus) string {
	names := starting(servers)
	if len(names) == 0 {
		return ""
	}
	return "starting " + strings.Join(names, ", ") + " …"
}

// starting names the servers that have neither come up nor failed yet.
func starting(servers []usher.ServerStatus) (names []string) {
	for _, s := range servers {
		if s.State == "starting" || s.State == "idle" {
			names = append(names, line(s.Name))
		}
	}
	return names
}
